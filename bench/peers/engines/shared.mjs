// shared.mjs -- what several adapters need: a server of their own, its CPU time, patience.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createServer } from 'node:net';

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Asks until the answer is true. */
export async function until(ask, everyMs = 3) {
  while (!(await ask())) await sleep(everyMs);
}

export async function patiently(fn, triesLeft = 100) {
  try {
    return await fn();
  } catch (error) {
    if (triesLeft === 0) throw error;
    await sleep(200);
    return patiently(fn, triesLeft - 1);
  }
}

export function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** A server that ends with this process. */
export function serverOf(program, args, env, dir) {
  const log = fs.openSync(`${dir}/server.log`, 'w');
  const child = spawn(program, args.map(String), {
    env: { ...process.env, ...env },
    stdio: ['ignore', log, log],
  });
  child.on('error', (error) => console.error(`cannot start ${program}: ${error.message}`));
  process.on('exit', () => child.kill('SIGTERM'));
  return child;
}

/** Seconds a process has used so far. */
export function cpuOf(pid) {
  const text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
