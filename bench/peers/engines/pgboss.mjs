// pg-boss. Sixteen loops that fetch and complete up to 100 (256) jobs at a time for the drain (its fastest
// documented way); workers woken by NOTIFY for everything else. A chain is jobs that send the next one;
// flow() would do it too, but looks for what has become ready once a second at best: it is used for the join,
// whose workers fetch 100 at a time.
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { sleep, until } from './shared.mjs';

const QUEUE = 'bench';
const CHAIN = 10;
const FAN = 100;

export async function open({ url, slots, scenario, completed }) {
  const boss = new PgBoss({
    connectionString: url, max: slots + 4, schedule: false, useListenNotify: true, flowIntervalSeconds: 1,
  });
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const ends = new Map();
  let over = false;

  const finished = (id) =>
    until(async () => {
      const { rows } = await pool.query('SELECT state FROM pgboss.job WHERE name = $1 AND id = $2', [QUEUE, id]);
      return rows[0]?.state === 'completed';
    }, 2);
  const handle = async (jobs) => {
    for (const { id, data } of jobs) {
      if (data?.at === undefined) continue;
      if (data.at < CHAIN) await boss.send(QUEUE, { flow: data.flow, at: data.at + 1 });
      else ends.get(data.flow)?.(id);
    }
  };
  const loop = async () => {
    while (!over) {
      const jobs = await boss.fetch(QUEUE, { batchSize: scenario === 'drain-full' ? 256 : 100 });
      if (!jobs?.length) {
        await sleep(5);
        continue;
      }
      await boss.complete(QUEUE, jobs.map(({ id }) => id));
      jobs.forEach(({ data }) => completed(data.key));
    }
  };

  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE, { notify: true });
  return {
    most: { 'flight-submit': 10000, 'flight-end-to-end': 10000, fan: 5, chain: 20 },
    bulk: (bodies) => boss.insert(QUEUE, bodies.map((data) => ({ data }))),
    submit: (data) => boss.send(QUEUE, data),
    filled: () => pool.query('VACUUM ANALYZE'),
    work: async () => {
      if (scenario.startsWith('drain-')) {
        for (let i = 0; i < slots; i++) void loop();
        return;
      }
      await boss.work(
        QUEUE,
        {
          localConcurrency: slots, pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5,
          ...(scenario === 'fan' ? { batchSize: FAN, burstWhenBatchFull: true } : {}),
        },
        async (jobs) => {
          await handle(jobs);
          jobs.forEach(({ data }) => completed(data?.key));
        },
      );
      await sleep(2000);
    },
    settled: () =>
      until(async () => {
        const { rows } = await pool.query(
          "SELECT 1 FROM pgboss.job WHERE name = $1 AND state < 'completed' LIMIT 1", [QUEUE]);
        return rows.length === 0;
      }),
    chain: async (flow) => {
      const end = new Promise((resolve) => ends.set(flow, resolve));
      await boss.send(QUEUE, { flow, at: 1 });
      await finished(await end);
      ends.delete(flow);
    },
    fan: async () => {
      const middle = Array.from({ length: FAN }, (_, i) => `m${i}`);
      const ids = await boss.flow([
        { ref: 'first', name: QUEUE, data: {} },
        ...middle.map((ref) => ({ ref, name: QUEUE, data: {}, dependsOn: ['first'] })),
        { ref: 'last', name: QUEUE, data: {}, dependsOn: middle },
      ]);
      await finished(ids.last);
    },
    close: () => {
      over = true;
    },
  };
}
