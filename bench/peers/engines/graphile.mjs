// graphile-worker. graphile: as it comes; graphile:batched: a local queue and completions in batches,
// what its documentation advises for throughput. Jobs are deleted when they are done. A chain is jobs that
// add the next one: there is no primitive for flows, and none for a join.
import { EventEmitter } from 'node:events';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { until } from './shared.mjs';

const CHAIN = 10;
const batched = { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } };

export async function open({ url, slots, variant, completed }) {
  const pgPool = new pg.Pool({ connectionString: url, max: slots + 4 });
  for (const event of ['error', 'connect'])
    pgPool.on(event, (what) => what instanceof Error || what?.on?.('error', () => {}));
  const logger = new Logger(() => (level, message) => level === 'error' && console.error(message));
  const utils = await makeWorkerUtils({ pgPool, logger });
  const events = new EventEmitter();
  const ends = new Map();
  const taskList = {
    one: async () => {},
    link: async ({ flow, at }, { addJob }) => {
      if (at < CHAIN) await addJob('link', { flow, at: at + 1 });
    },
  };

  await utils.migrate();
  events.on('job:complete', ({ job: { payload } }) => {
    if (payload.at === undefined) completed(payload.key);
    else if (payload.at === CHAIN) ends.get(payload.flow)?.();
  });
  return {
    most: { 'flight-submit': 10000, 'drain-full': variant === 'batched' ? Infinity : 20000, 'flight-end-to-end': 10000 },
    bulk: (bodies) => utils.addJobs(bodies.map((payload) => ({ identifier: 'one', payload }))),
    submit: (payload) => utils.addJob('one', payload),
    filled: () => pgPool.query('VACUUM ANALYZE graphile_worker._private_jobs'),
    work: () =>
      run({
        pgPool, concurrency: slots, taskList, events, logger, noHandleSignals: true,
        preset: variant === 'batched' ? batched : {},
      }),
    settled: () =>
      until(async () => {
        const { rows } = await pgPool.query('SELECT 1 FROM graphile_worker._private_jobs LIMIT 1');
        return rows.length === 0;
      }),
    chain: async (flow) => {
      const end = new Promise((resolve) => ends.set(flow, resolve));
      await utils.addJob('link', { flow, at: 1 });
      await end;
      ends.delete(flow);
    },
  };
}
