// run.mjs -- plays one scenario on one other engine: node run.mjs ENGINE SCENARIO
//
// Started by ff-bench (bench/peer.c), which holds the clock: this prints "ready" once everything is set
// up, waits for a line, plays, and prints what it saw as one line of JSON. Every engine is an adapter
// in engines/; the scenarios are here, once for all of them.
// Environment: BENCH_URL (a fresh Postgres database), BENCH_DIR (a directory of its own), BENCH_COUNT,
// BENCH_PAYLOAD (bytes).
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const SLOTS = 16;
const BULK = 1000;
const WARM = 10;

// stdout is ours: what engines have to say goes to stderr, which ff-bench keeps and shows when a run fails.
const tell = (line) => process.stdout.write(`${line}\n`);
console.log = console.info = console.warn = console.error;

const [engineName, scenarioName] = process.argv.slice(2);
const wanted = Number(process.env.BENCH_COUNT);
const payload = 'x'.repeat(Math.max(0, Number(process.env.BENCH_PAYLOAD) - 20));
const input = createInterface({ input: process.stdin });
const go = once(input, 'line');

// Whoever started us is gone, however it ended: so are we, and the servers we have started.
let over = false;
input.on('close', () => over || process.exit(1));
process.on('SIGTERM', () => process.exit(1));

/** Completions: how many there were, and who waits for which. */
class Ledger {
  #done = 0;
  #goals = [];
  #keys = new Map();

  completed(key) {
    this.#done++;
    this.#keys.get(key)?.();
    this.#keys.delete(key);
    this.#goals = this.#goals.filter(({ goal, resolve }) => this.#done < goal || resolve());
  }

  get done() {
    return this.#done;
  }

  reach(goal) {
    return this.#done >= goal
      ? Promise.resolve()
      : new Promise((resolve) => this.#goals.push({ goal, resolve: () => void resolve() }));
  }

  key(key) {
    return new Promise((resolve) => this.#keys.set(key, resolve));
  }
}

/** Runs fn(0 ... count - 1), at most `SLOTS` at a time. */
async function inFlight(count, fn) {
  let next = 0;
  const slot = async () => {
    while (next < count) await fn(next++);
  };
  await Promise.all(Array.from({ length: SLOTS }, slot));
}

async function fill(engine, count) {
  if (!engine.bulk) return inFlight(count, (i) => engine.submit(body(i)));
  for (let from = 0; from < count; from += BULK)
    await engine.bulk(Array.from({ length: Math.min(BULK, count - from) }, (_, i) => body(from + i)));
}

const body = (i, key) => ({ i, key, p: payload });

/** Times fn `count` times and returns the percentiles in ms. */
async function sample(count, fn) {
  const ms = [];
  for (let i = 0; i < count; i++) {
    const from = performance.now();
    await fn(i);
    ms.push(performance.now() - from);
  }
  ms.sort((a, b) => a - b);
  const at = (percent) => ms[Math.max(0, Math.ceil((count * percent) / 100) - 1)];
  return { p50_ms: at(50), p95_ms: at(95), p99_ms: at(99) };
}

const warmed = async (fn) => {
  for (let i = 0; i < WARM; i++) await fn(`warm${i}`);
};

const drain = async (engine, count, ledger) => {
  await fill(engine, count);
  await engine.filled?.();
  return async () => {
    await engine.work();
    await ledger.reach(count);
    await engine.settled?.();
  };
};

// Each prepares and returns what the clock is about.
const scenarios = {
  'bulk-submit': async (engine, count) => () => fill(engine, count),
  'flight-submit': async (engine, count) => () => inFlight(count, (i) => engine.submit(body(i))),
  'drain-4': drain,
  'drain-full': drain,
  'flight-end-to-end': async (engine, count, ledger) => {
    await engine.work();
    return async () => {
      await inFlight(count, (i) => engine.submit(body(i)));
      await ledger.reach(count);
      await engine.settled?.();
    };
  },
  'idle-latency': async (engine, count, ledger) => {
    const one = async (key) => {
      if (engine.alone) return engine.alone(body(0, key));
      const end = ledger.key(key);
      await engine.submit(body(0, key));
      await end;
    };
    await engine.work();
    await warmed(one);
    return () => sample(count, (i) => one(`one${i}`));
  },
  chain: async (engine, count) => {
    await engine.work();
    await warmed(engine.chain);
    return () => sample(count, (i) => engine.chain(`solo${i}`));
  },
  chains: async (engine, count) => {
    await engine.work();
    await warmed(engine.chain);
    return () => inFlight(count, (i) => engine.chain(`many${i}`));
  },
  fan: async (engine, count) => {
    await engine.work();
    await engine.fan('warm');
    return () => sample(count, (i) => engine.fan(`fan${i}`));
  },
};

const needs = { 'bulk-submit': 'bulk', chain: 'chain', chains: 'chain', fan: 'fan' };

async function main() {
  const ledger = new Ledger();
  const { open } = await import(`./engines/${engineName.split(':')[0]}.mjs`);
  const engine = await open({
    url: process.env.BENCH_URL.replace('@/', '@localhost/'), // some insist on a host before the socket's
    dir: process.env.BENCH_DIR,
    slots: SLOTS,
    scenario: scenarioName,
    variant: engineName.split(':')[1],
    completed: (key) => ledger.completed(key),
  });
  const need = needs[scenarioName];
  if (need && !engine[need]) {
    over = true;
    tell('no');
  } else {
    const count = Math.min(wanted, engine.most?.[scenarioName] ?? wanted);
    const play = await scenarios[scenarioName](engine, count, ledger);
    tell('ready');
    await go;
    const server = engine.serverCpu?.() ?? 0;
    const cpu = process.cpuUsage();
    const seen = await play();
    const used = process.cpuUsage(cpu);
    over = true;
    tell(
      JSON.stringify({
        count,
        engine_cpu_s: (used.user + used.system) / 1e6,
        server_cpu_s: engine.serverCpu ? engine.serverCpu() - server : null,
        ...seen,
      }),
    );
  }
  await engine.close?.();
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
