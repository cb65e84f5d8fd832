import { Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { Client, Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { RunRelayError } from '../errors.ts';
import { lastIdOf, SseText } from './fixtures/sse-text.ts';
import { startTwoServers, type TwoServers } from './fixtures/two-servers.ts';
import { PostgresRunRelay } from './postgres-run-relay.ts';
import { KEY, serverScenario, SESSION } from '../fixtures/server-scenario.ts';

/** Ends every connection of the servers, those that listen included. */
async function breakConnections({ query }: TwoServers): Promise<void> {
  await query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

const codesOf = (errors: readonly unknown[]): unknown[] =>
  errors.map((error) => (RunRelayError.isInstance(error) ? error.code : error));

describe('lost connections', () => {
  test('during a run do not lose frames', async () => {
    const gates = [new Gate(), new Gate(), new Gate()];
    const chunks = gates.flatMap((gate, index) => [`chunk ${index}a `, `chunk ${index}b `, gate]);
    await using servers = await startTwoServers([{ chunks: [...chunks, 'end'] }]);
    const { response, path } = await servers.a.start();
    const there = new SseText(response);
    const here = new SseText(await servers.b.send(path));
    for (const [index, gate] of gates.entries()) {
      await here.until(`"chunk ${index}b "`);
      await breakConnections(servers);
      gate.open();
    }
    expect(await here.rest()).toBe(await there.rest());
    expect(codesOf([...servers.a.reported, ...servers.b.reported])).toContain('RUN_RELAY');
  });

  test('do not prevent a cancellation', async () => {
    await using servers = await startTwoServers([{ chunks: ['one ', new Gate()] }]);
    const { response, path } = await servers.a.start();
    await breakConnections(servers);
    const cancel = async (): Promise<number> => (await servers.b.send(path, { method: 'DELETE' })).status;
    await expect.poll(cancel).toBe(200);
    expect(await response.text()).toContain('"code":"RUN_ABORTED"');
  });
});

test('unlogged tables emptied by a crash are filled again', async () => {
  const gate = new Gate();
  const steps = [{ chunks: ['one ', 'two ', gate, 'three'] }];
  await using servers = await startTwoServers(steps, { isHurried: true });
  const { response, path } = await servers.a.start();
  const follower = new SseText(await servers.b.send(path));
  const seen = await follower.until('"two "');
  await servers.query('TRUNCATE eventloom_relay_hosts, eventloom_relay_runs, eventloom_relay_chunks');
  gate.open();
  const whole = await response.text();
  const rest = await follower.rest();
  const headers = { 'last-event-id': lastIdOf(rest) };
  // The follower may notice the empty tables only after the run has ended: then it gets the stored event without the chunks before it.
  const isWhole = lastIdOf(rest) === lastIdOf(whole);
  await expect.poll(async () => (await servers.b.send(path, { headers })).status).toBe(isWhole ? 204 : 200);
  await expect.poll(async () => (await servers.b.send(path)).text()).toBe(whole);
  expect(rest.startsWith(seen)).toBe(true);
});

test('followers of a run whose row is missing get a coded error', async () => {
  await using servers = await startTwoServers([{ chunks: ['one ', new Gate()] }], { relay: { leaseMs: 1500 } });
  const { path } = await servers.a.start();
  const follower = new SseText(await servers.b.send(path));
  const seen = await follower.until('"one "');
  await servers.query('TRUNCATE eventloom_relay_hosts, eventloom_relay_runs, eventloom_relay_chunks');
  expect((await follower.rest()).slice(seen.length)).toMatch(
    /^retry: 2000\n\ndata: \{"error":.*"code":"RUN_GOES_ON","run":"\/apps\/[^"]*"\}\n\n$/,
  );
  expect(servers.a.server.runsInFlight).toBe(1);
});

test('followers get the stored events if frames are missing in the tables', async () => {
  await using servers = await startTwoServers([{ chunks: ['one ', 'two'] }]);
  const { response, path } = await servers.a.start();
  const whole = await response.text();
  const read = async (): Promise<string> => (await servers.b.send(path)).text();
  await expect.poll(read).toBe(whole);
  await servers.query('DELETE FROM eventloom_relay_chunks');
  expect(await read()).toBe(whole.slice(whole.indexOf('id: 1\n')));
});

const tool = new FunctionTool({ name: 'look', description: '', execute: () => undefined });

test('a host whose heartbeat was late is followed again', async () => {
  const gate = new Gate();
  // The next heartbeat comes after the test.
  await using servers = await startTwoServers([{ chunks: ['one ', gate, 'two'] }], { tools: [tool] });
  const { response, path } = await servers.a.start();
  await expect.poll(() => servers.query('SELECT last_position FROM eventloom_relay_chunks')).toHaveLength(1);
  await servers.query('DELETE FROM eventloom_relay_hosts');
  const lost = await (await servers.b.send(path)).text();
  expect(lost).toContain('"code":"RUN_GOES_ON"');
  gate.open();
  const whole = await response.text();
  const rest = async (): Promise<string> => (await servers.b.send(path)).text();
  await expect.poll(rest).toBe(whole);
});

describe('an unreachable database', () => {
  test('does not affect local runs, is reported once, and hides runs of other processes', async () => {
    const pool = new Pool({ connectionString: 'postgresql://nobody@127.0.0.1:1/none' });
    const relay = new PostgresRunRelay({ pool });
    const reported: unknown[] = [];
    const { send } = await serverScenario({
      steps: [{ chunks: ['one ', 'two'] }, 'again'],
      hasSession: false,
      relay,
      onError: (error) => reported.push(error),
    });
    const newMessage = { parts: [{ text: 'hi' }] };
    const run = (): Promise<Response> => send('POST', '/run_sse', { ...KEY, newMessage, streaming: true });
    const first = await run();
    expect(await first.text()).toContain('one two');
    expect(await (await run()).text()).toContain('again');
    expect((await send('GET', `${SESSION}/runs/${first.headers.get('Eventloom-Invocation-Id')}`)).status).toBe(200);
    for (const method of ['GET', 'DELETE']) {
      const other = await send(method, `${SESSION}/runs/e-other`);
      expect([other.status, await other.json()]).toMatchObject([503, { code: 'RUN_RELAY' }]);
    }
    await relay.close();
    await pool.end();
    // One failure each: the listening connection, the publication of runs, and the request that was answered with 503.
    expect(new Set(codesOf(reported))).toEqual(new Set(['RUN_RELAY']));
    expect(reported.length).toBeLessThan(8);
  });
});

test('a slow database delays followers in other processes, never the run', async () => {
  // A reply has two events, each in its own row.
  const big = 'x'.repeat(150_000);
  await using servers = await startTwoServers([big, big], {
    server: { limits: { respondAfterMs: 50 } },
    relay: { maxBacklogChars: 400_000 },
  });
  await servers.b.send(`/apps/app/users/ann/sessions/s/runs/e-none`);
  const client = new Client({ connectionString: servers.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query('LOCK TABLE eventloom_relay_chunks IN ACCESS EXCLUSIVE MODE');
  const [first, second] = [await servers.a.start(), await servers.a.start()];
  const texts = [await first.response.text(), await second.response.text()];
  expect(texts.map((text) => text.includes(big))).toEqual([true, true]);
  expect(servers.a.server.runsInFlight).toBe(0);
  expect(codesOf(servers.a.reported)).toEqual(['RUN_RELAY']);
  await client.query('COMMIT');
  await client.end();
  const read = async (path: string): Promise<string> => (await servers.b.send(path)).text();
  await expect.poll(async () => (await read(second.path)) === texts[1]).toBe(true);
  const stored = texts[0]?.slice(texts[0].indexOf('id: 1\n'));
  await expect.poll(async () => (await read(first.path)) === stored).toBe(true);
});
