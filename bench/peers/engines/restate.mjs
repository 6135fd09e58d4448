// Restate, one server from npm in a directory of its own. An execution is a one-way call of a handler that
// does nothing; a chain is ten durable steps of one handler; the join is a handler that awaits 100 calls. A
// backlog is made of sends that are due at the same moment; there is no call to send many.
import http2 from 'node:http2';
import * as restate from '@restatedev/restate-sdk';
import * as clients from '@restatedev/restate-sdk-clients';
import { cpuOf, freePort, patiently, serverOf, sleep } from './shared.mjs';

const CHAIN = 10;
const FAN = 100;
const LEAD_MS = 20000;
const program = new URL('../node_modules/@restatedev/restate-server-linux-x64/bin/restate-server', import.meta.url);

function service(completed) {
  return restate.service({
    name: 'bench',
    handlers: {
      one: async (ctx, { i, key } = {}) => {
        completed(key);
        return i ?? 0;
      },
      chain: async (ctx) => {
        for (let i = 0; i < CHAIN; i++) await ctx.run(`step${i}`, async () => i);
        return CHAIN;
      },
      fan: async (ctx) => {
        const self = ctx.serviceClient({ name: 'bench' });
        await restate.RestatePromise.all(Array.from({ length: FAN }, (_, i) => self.one({ i })));
        return FAN;
      },
    },
  });
}

export async function open({ dir, completed }) {
  const [node, ingress, admin, own] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const server = serverOf(
    program.pathname,
    ['--listen-mode', 'tcp', '--bind-ip', '127.0.0.1', '--bind-port', node, '--base-dir', `${dir}/data`,
      '--node-name', 'bench', '--no-logo'],
    {
      RESTATE_INGRESS__BIND_PORT: String(ingress), RESTATE_ADMIN__BIND_PORT: String(admin),
      RESTATE_DISABLE_TELEMETRY: 'true', RESTATE_LOG_FILTER: 'warn', TMPDIR: dir,
    }, dir);
  let counting = false;
  let due = 0;

  const handler = restate.createEndpointHandler({ services: [service((key) => counting && completed(key))] });
  await new Promise((resolve) => http2.createServer(handler).listen(own, '127.0.0.1', resolve));
  await patiently(async () => {
    const answer = await fetch(`http://127.0.0.1:${admin}/deployments`, {
      method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri: `http://127.0.0.1:${own}` }),
    });
    if (!answer.ok) throw new Error(await answer.text());
  });
  const client = clients.connect({ url: `http://127.0.0.1:${ingress}` });
  const call = client.serviceClient({ name: 'bench' });
  const send = client.serviceSendClient({ name: 'bench' });
  await patiently(() => call.one({}));
  counting = true;

  return {
    most: { 'drain-full': 10000, 'flight-submit': 10000, 'flight-end-to-end': 10000 },
    submit: (data) => {
      if (!due) due = Date.now() + LEAD_MS; // until work() is called nothing runs
      return send.one(data, clients.rpc.sendOpts(due === Infinity ? {} : { delay: Math.max(1, due - Date.now()) }));
    },
    filled: () => sleep(due - Date.now()),
    work: async () => {
      due = Infinity;
    },
    chain: () => call.chain(),
    fan: () => call.fan(),
    serverCpu: () => cpuOf(server.pid),
  };
}
