// BullMQ on a Redis of its own that appends and fsyncs before it answers. A chain is jobs that add the
// next one; the join is a flow whose parent waits for its children.
import { FlowProducer, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { cpuOf, freePort, patiently, serverOf } from './shared.mjs';

const QUEUE = 'bench';
const CHAIN = 10;
const FAN = 100;

export async function open({ dir, slots, completed }) {
  const port = await freePort();
  const redis = serverOf(
    'redis-server',
    ['--port', port, '--bind', '127.0.0.1', '--dir', dir, '--appendonly', 'yes', '--appendfsync', 'always',
      '--save', '', '--maxmemory-policy', 'noeviction'],
    {}, dir);
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const probe = new Redis({ ...connection, lazyConnect: true, retryStrategy: () => 200 });
  const ends = new Map();

  probe.on('error', () => {}); // not there yet
  await patiently(() => probe.ping());
  const queue = new Queue(QUEUE, { connection });
  const flows = new FlowProducer({ connection });
  await queue.waitUntilReady();

  const run = async ({ data }) => {
    if (data.at < CHAIN) await queue.add('link', { flow: data.flow, at: data.at + 1 });
  };
  const ended = ({ data }) => {
    if (data.flow === undefined) completed(data.key);
    else if (data.at === undefined || data.at === CHAIN) ends.get(data.flow)?.();
  };
  const awaited = async (flow, begin) => {
    const end = new Promise((resolve) => ends.set(flow, resolve));
    await begin();
    await end;
    ends.delete(flow);
  };

  return {
    bulk: (bodies) => queue.addBulk(bodies.map((data) => ({ name: 'one', data }))),
    submit: (data) => queue.add('one', data),
    work: async () => {
      const worker = new Worker(QUEUE, run, { connection, concurrency: slots });
      worker.on('completed', ended);
      worker.on('error', (error) => console.error(error));
      await worker.waitUntilReady();
    },
    chain: (flow) => awaited(flow, () => queue.add('link', { flow, at: 1 })),
    fan: (flow) =>
      awaited(flow, () =>
        flows.add({
          name: 'join', queueName: QUEUE, data: { flow },
          children: Array.from({ length: FAN }, (_, i) => ({ name: 'one', queueName: QUEUE, data: { i } })),
        })),
    serverCpu: () => cpuOf(redis.pid),
  };
}
