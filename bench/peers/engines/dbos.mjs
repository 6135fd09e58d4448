// DBOS Transact. An execution is a workflow of one step, handed in through a queue that is asked every
// 10 ms (its default is a second); alone, it is started directly, and so is a chain, a workflow of ten steps: that
// is recorded before it runs, too. The join is a workflow that awaits 100 others of the queue. There is no call to
// enqueue many.
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import pg from 'pg';
import { sleep, until } from './shared.mjs';

const QUEUE = 'bench';
const CHAIN = 10;
const FAN = 100;
const patient = { pollingIntervalMs: 5 };

export async function open({ url, slots, completed }) {
  const pool = new pg.Pool({ connectionString: url, max: 2 });

  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, systemDatabasePoolSize: 20, logLevel: 'error' });
  const one = DBOS.registerWorkflow(
    async ({ i, key }) => {
      await DBOS.runStep(async () => i, { name: 'step' });
      completed(key);
      return i;
    }, { name: 'one' });
  const chain = DBOS.registerWorkflow(
    async () => {
      for (let i = 0; i < CHAIN; i++) await DBOS.runStep(async () => i, { name: `step${i}` });
      return CHAIN;
    }, { name: 'chain' });
  const fan = DBOS.registerWorkflow(
    async () => {
      const handles = [];
      for (let i = 0; i < FAN; i++) handles.push(await DBOS.startWorkflow(one, { queueName: QUEUE })({ i }));
      for (const handle of handles) await handle.getResult(patient);
      return FAN;
    }, { name: 'fan' });
  await DBOS.launch();
  const client = await DBOSClient.create({
    systemDatabaseUrl: url, systemDatabasePoolSize: slots + 2, applicationName: 'bench',
  });
  const request = { queueName: QUEUE, workflowName: 'one', appVersion: DBOS.applicationVersion };

  return {
    most: { 'drain-full': 3000, 'flight-submit': 5000, 'flight-end-to-end': 3000 },
    submit: (data) => client.enqueue(request, data),
    alone: async (data) => (await DBOS.startWorkflow(one)(data)).getResult(),
    filled: () => pool.query('VACUUM ANALYZE'),
    work: async () => {
      await DBOS.registerQueue(QUEUE, { workerConcurrency: slots, minPollingIntervalMs: 10 });
      await sleep(500);
    },
    settled: () =>
      until(async () => {
        const { rows } = await pool.query("SELECT 1 FROM dbos.workflow_status WHERE status <> 'SUCCESS' LIMIT 1");
        return rows.length === 0;
      }),
    chain: async () => (await DBOS.startWorkflow(chain)()).getResult(),
    fan: async () => (await DBOS.startWorkflow(fan)()).getResult(),
  };
}
