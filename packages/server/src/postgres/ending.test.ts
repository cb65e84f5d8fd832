import { Gate } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { SseText } from './fixtures/sse-text.ts';
import { SESSION, startTwoServers } from './fixtures/two-servers.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };

describe('a run cancelled in another process', () => {
  test('ends on its host and keeps its committed events', async () => {
    const gate = new Gate();
    await using servers = await startTwoServers([{ chunks: ['one ', gate, 'two'] }]);
    const { response, path } = await servers.a.start();
    const there = new SseText(response);
    const here = new SseText(await servers.b.send(path));
    const answer = await servers.b.send(path, { method: 'DELETE' });
    expect([answer.status, await answer.json()]).toEqual([200, null]);
    expect(servers.a.server.runsInFlight).toBe(0);
    const text = await there.rest();
    expect(text).toContain('data: {"error":"the run was cancelled","code":"RUN_ABORTED"}');
    expect(await here.rest()).toBe(text);
    const session = await servers.sessions.getSession(KEY);
    expect(session?.events[0]?.content?.parts).toEqual([{ text: 'hi' }]);
  });

  test('that has completed is not changed', async () => {
    await using servers = await startTwoServers(['done']);
    const { response, path } = await servers.a.start();
    const text = await response.text();
    expect((await servers.b.send(path, { method: 'DELETE' })).status).toBe(200);
    expect(await (await servers.b.send(path)).text()).toBe(text);
  });

  test('ends even if no notification reaches its host', async () => {
    await using servers = await startTwoServers([{ chunks: ['one ', new Gate()] }], { isHurried: true });
    const { response, path } = await servers.a.start();
    const reader = new SseText(response);
    await reader.until('"one "');
    await servers.query(`UPDATE eventloom_relay_runs SET stop = 'cancel' WHERE $1 LIKE '%' || invocation_id`, [path]);
    expect(await reader.rest()).toContain('"code":"RUN_ABORTED"');
  });
});

describe('a session deleted in another process', () => {
  test('ends its run on the host, which is then not found', async () => {
    await using servers = await startTwoServers([{ chunks: ['one ', new Gate()] }]);
    const { response, path } = await servers.a.start();
    const there = new SseText(response);
    const here = new SseText(await servers.b.send(path));
    await here.until('"one "');
    expect((await servers.b.send(SESSION, { method: 'DELETE' })).status).toBe(200);
    expect(servers.a.server.runsInFlight).toBe(0);
    const text = await there.rest();
    expect(text).toContain('data: {"error":"the session was deleted","code":"RUN_ABORTED"}');
    expect(await here.rest()).toBe(text);
    for (const { send } of [servers.b, servers.a]) expect((await send(path)).status).toBe(404);
  });

  test('removes its completed runs', async () => {
    await using servers = await startTwoServers(['done']);
    const { response, path } = await servers.a.start();
    await response.text();
    await expect.poll(async () => (await servers.b.send(path)).text()).toContain('done');
    expect((await servers.b.send(SESSION, { method: 'DELETE' })).status).toBe(200);
    expect((await servers.b.send(path)).status).toBe(404);
    await expect.poll(async () => (await servers.a.send(path)).status).toBe(404);
  });

  test('on the host of its run removes it in all processes', async () => {
    await using servers = await startTwoServers([{ chunks: ['one ', new Gate()] }]);
    const { response, path } = await servers.a.start();
    const here = new SseText(await servers.b.send(path));
    expect((await servers.a.send(SESSION, { method: 'DELETE' })).status).toBe(200);
    expect(await here.rest()).toBe(await new SseText(response).rest());
    expect((await servers.b.send(path)).status).toBe(404);
  });

  test('does not wait for a dead host', async () => {
    await using servers = await startTwoServers([{ chunks: ['one ', new Gate()] }], { isHurried: true });
    const { path } = await servers.a.start();
    // The host writes nothing more, which would show that it is alive.
    await new SseText(await servers.b.send(path)).until('"one "');
    await servers.query(`UPDATE eventloom_relay_runs SET host = gen_random_uuid() WHERE $1 LIKE '%' || invocation_id`, [
      path,
    ]);
    expect((await servers.b.send(SESSION, { method: 'DELETE' })).status).toBe(200);
  });

  test('ends its run on a host that counted as dead and writes again', async () => {
    const gate = new Gate();
    await using servers = await startTwoServers([{ chunks: ['one ', gate, 'two ', new Gate()] }], { isHurried: true });
    const { response, path } = await servers.a.start();
    const there = new SseText(response);
    await new SseText(await servers.b.send(path)).until('"one "');
    const lost = `UPDATE eventloom_relay_runs SET host = gen_random_uuid(), stop = 'forget' WHERE $1 LIKE '%' || invocation_id`;
    await servers.query(lost, [path]);
    gate.open();
    expect(await there.rest()).toContain('data: {"error":"the session was deleted","code":"RUN_ABORTED"}');
  });
});
