import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { startTwoServers, type TwoServers } from './fixtures/two-servers.ts';

/** The runs that the tables have, and the chunks of all of them. */
async function kept({ query }: TwoServers): Promise<{ readonly runs: unknown[]; readonly chunks: unknown[] }> {
  const idsOf = async (table: string): Promise<unknown[]> =>
    (await query(`SELECT DISTINCT invocation_id AS id FROM ${table}`)).map(({ id }) => id);
  const chunks = 'eventloom_relay_chunks LEFT JOIN eventloom_relay_runs USING (run_key)';
  return { runs: await idsOf('eventloom_relay_runs'), chunks: await idsOf(chunks) };
}

const NOTHING = { runs: [], chunks: [] };

test('a completed run is kept as long as on its host, then read from its session', async () => {
  await using servers = await startTwoServers(['done'], { server: { limits: { keepRunsMs: 300 } }, isHurried: true });
  const { response, path } = await servers.a.start();
  await response.text();
  expect((await servers.b.send(path)).status).toBe(200);
  await expect.poll(() => kept(servers)).toEqual(NOTHING);
  expect(await (await servers.b.send(path)).text()).toContain('done');
});

test('a run of a dead host is removed too', async () => {
  await using servers = await startTwoServers([{ chunks: ['one ', new Gate()] }], { isHurried: true });
  const { path } = await servers.a.start();
  await (await servers.b.send(path)).body?.cancel();
  await servers.query('UPDATE eventloom_relay_runs SET host = gen_random_uuid(), keep_ms = 0');
  await expect.poll(() => kept(servers)).toEqual(NOTHING);
});

test('the characters kept of completed runs are limited, and the oldest run is removed first', async () => {
  await using servers = await startTwoServers(['one', 'two'], { relay: { maxKeptChars: 1500 }, isHurried: true });
  const ids: string[] = [];
  for (const _run of [1, 2]) {
    const { response, path } = await servers.a.start();
    await response.text();
    ids.push(path.split('/').at(-1) ?? '');
  }
  await expect.poll(() => kept(servers)).toEqual({ runs: [ids[1]], chunks: [ids[1]] });
});

test('an active run is kept without a time limit', async () => {
  const gate = new Gate();
  await using servers = await startTwoServers([{ chunks: ['one ', gate, 'two'] }, 'done'], {
    server: { limits: { keepRunsMs: 0 } },
    isHurried: true,
  });
  await servers.sessions.createSession({ appName: 'app', userId: 'ann', sessionId: 't' });
  const { response, path } = await servers.a.start();
  const newMessage = { parts: [{ text: 'hi' }] };
  const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 't', newMessage });
  await servers.b.send('/run', { method: 'POST', body });
  // The sweep removes the other run, which has ended, and not this one.
  await expect.poll(async () => (await kept(servers)).runs).toEqual([path.split('/').at(-1)]);
  gate.open();
  await response.text();
});

test('a session that is deleted leaves no events behind', async () => {
  await using servers = await startTwoServers(['done']);
  const { response, path } = await servers.a.start();
  await response.text();
  await expect.poll(async () => (await servers.b.send(path)).text()).toContain('done');
  await servers.b.send(path.replace(/\/runs.*/, ''), { method: 'DELETE' });
  const [row] = await servers.query(
    `SELECT expires_at < now() + interval '11 seconds' AS soon FROM eventloom_relay_runs`,
  );
  expect(row).toEqual({ soon: true });
});
