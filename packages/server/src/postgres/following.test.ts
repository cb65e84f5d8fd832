import { ConfigurationError } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { describe, expect, test, vi } from 'vitest';
import { lastIdOf, SseText } from './fixtures/sse-text.ts';
import { SESSION, startTwoServers } from './fixtures/two-servers.ts';

describe('a run of another process', () => {
  test('is followed chunk by chunk with the same bytes', async () => {
    const [first, second] = [new Gate(), new Gate()];
    await using servers = await startTwoServers([{ chunks: ['one ', first, 'two ', second, 'three'] }]);
    const { response, path } = await servers.a.start();
    const there = new SseText(response);
    const here = new SseText(await servers.b.send(path));
    await here.until('"one "');
    first.open();
    expect(await here.until('"two "')).not.toContain('three');
    second.open();
    const text = await here.rest();
    expect(text).toBe(await there.rest());
    expect(text).toContain('one two three');
  });

  test('can be followed alternately on both servers, with the Last-Event-ID of the other one', async () => {
    const gates = [new Gate(), new Gate(), new Gate()];
    const chunks = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].flatMap((text, index) => {
      const gate = gates[(index - 2) / 2];
      return gate ? [gate, text] : [text];
    });
    await using servers = await startTwoServers([{ chunks }]);
    const { response, path } = await servers.a.start();
    const parts: string[] = [];
    let reader = new SseText(response);
    for (const [index, server] of [servers.b, servers.a, servers.b].entries()) {
      const part = await reader.until(`"${'bdf'[index]}"`);
      await reader.drop();
      parts.push(part);
      gates[index]?.open();
      reader = new SseText(await server.send(path, { headers: { 'last-event-id': lastIdOf(part) } }));
    }
    parts.push(await reader.rest());
    const whole = await new SseText(await servers.a.send(path)).rest();
    expect(parts.join('')).toBe(whole);
    expect(await new SseText(await servers.b.send(path)).rest()).toBe(whole);
  });

  test('waits for announced frames that are not yet relayed', async () => {
    const gate = new Gate();
    await using servers = await startTwoServers([{ chunks: ['one ', 'two ', 'three ', gate, 'four'] }]);
    const { response, path } = await servers.a.start();
    const seen = await new SseText(response).until('"three "');
    const headers = { 'last-event-id': lastIdOf(seen) };
    const rest = new SseText(await servers.b.send(path, { headers }));
    gate.open();
    expect(seen + (await rest.rest())).toBe(await new SseText(await servers.a.send(path)).rest());
  });

  test('started by /run can also be followed', async () => {
    const gate = new Gate();
    await using servers = await startTwoServers([{ text: 'done', gate }]);
    const newMessage = { parts: [{ text: 'hi' }] };
    const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage });
    const answer = servers.a.send('/run', { method: 'POST', body });
    await gate.reached;
    gate.open();
    const response = await answer;
    const path = `${SESSION}/runs/${response.headers.get('Eventloom-Invocation-Id')}`;
    const [event] = (await response.json()) as object[];
    expect(await new SseText(await servers.b.send(path)).rest()).toBe(`id: 1\ndata: ${JSON.stringify(event)}\n\n`);
  });

  test("that fails has its host's error frame, and later answers 204", async () => {
    await using servers = await startTwoServers([{ chunks: ['one'], error: new ConfigurationError('broke') }]);
    const { response, path } = await servers.a.start();
    const whole = await new SseText(response).rest();
    const followed = await new SseText(await servers.b.send(path)).rest();
    expect(followed).toBe(whole);
    expect(followed).toContain('data: {"error":"broke","code":"CONFIGURATION"}');
    const after = (id: string): Promise<Response> => servers.b.send(path, { headers: { 'last-event-id': id } });
    expect(await (await after('1')).text()).toContain('"broke","code"');
    expect((await after(lastIdOf(whole))).status).toBe(204);
    const tooFar = await after('2');
    expect([tooFar.status, await tooFar.json()]).toMatchObject([404, { code: 'RUN_EVENT_NOT_FOUND' }]);
  });

  test('that is unknown or of another session is not found', async () => {
    const gate = new Gate();
    await using servers = await startTwoServers([{ chunks: ['one', gate] }]);
    const { path } = await servers.a.start();
    await servers.sessions.createSession({ appName: 'app', userId: 'bob', sessionId: 's' });
    for (const other of [
      `${SESSION}/runs/e-nope`,
      path.replace('sessions/s', 'sessions/t'),
      path.replace('ann', 'bob'),
    ]) {
      for (const method of ['GET', 'DELETE']) {
        const answer = await servers.b.send(other, { method });
        expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'RUN_NOT_FOUND' }]);
      }
    }
    expect(servers.a.server.runsInFlight).toBe(1);
    expect((await servers.b.send(path)).status).toBe(200);
  });

  test('whose first frames were dropped answers like its host', async () => {
    const [first, gate] = [new Gate(), new Gate()];
    const chunks = Array.from({ length: 20 }, (_, index) => `chunk ${index} ${'x'.repeat(100)}`);
    await using servers = await startTwoServers([{ chunks: ['begin', first, ...chunks, gate, 'last'] }], {
      server: { limits: { maxRunChars: 2000 } },
    });
    const { path } = await servers.a.start();
    first.open();
    await gate.reached;
    const there = await servers.a.send(path);
    gate.open();
    const follower = new SseText(await servers.b.send(path, { headers: { 'last-event-id': '21' } }));
    await follower.rest();
    const here = await servers.b.send(path);
    expect([there.status, here.status]).toEqual([410, 410]);
    expect(await here.json()).toMatchObject({ code: 'RUN_EVENTS_GONE' });
    const kept = await servers.query('SELECT min(after_position) AS first FROM eventloom_relay_chunks');
    expect(Number(kept[0]?.['first'])).toBeGreaterThan(1);
  });

  test('is mirrored once for all local followers, until the last one disconnects', async () => {
    const gate = new Gate();
    await using servers = await startTwoServers([{ chunks: ['one ', gate, 'two'] }]);
    const follow = vi.spyOn(servers.b.relay, 'follow');
    const { path } = await servers.a.start();
    const responses = await Promise.all([1, 2, 3].map(() => servers.b.send(path)));
    const readers = responses.map((response) => new SseText(response));
    for (const reader of readers) await reader.until('"one "');
    expect(follow).toHaveBeenCalledTimes(1);
    for (const reader of readers) await reader.drop();
    const late = new SseText(await servers.b.send(path));
    gate.open();
    expect(await late.rest()).toBe(await new SseText(await servers.a.send(path)).rest());
    expect(follow).toHaveBeenCalledTimes(2);
  });

  test('can be read after its host was shut down', async () => {
    await using servers = await startTwoServers([{ chunks: ['one ', 'two'] }]);
    const { response, path } = await servers.a.start();
    const whole = await new SseText(response).rest();
    await servers.a.server.drain(0);
    await servers.a.relay.close();
    expect(await new SseText(await servers.b.send(path)).rest()).toBe(whole);
  });
});

test("followers of another process's run are asked to reconnect when their server shuts down", async () => {
  const gate = new Gate();
  await using servers = await startTwoServers([{ chunks: ['one ', gate, 'two'] }]);
  const { response, path } = await servers.a.start();
  const reader = new SseText(await servers.b.send(path));
  const seen = await reader.until('"one "');
  await servers.b.server.drain(0);
  expect((await reader.rest()).slice(seen.length)).toMatch(
    /^(retry: 2000\n\n)+data: \{.*"code":"RUN_GOES_ON","run":"\/apps\/[^"]*"\}\n\n$/,
  );
  gate.open();
  expect(await new SseText(response).rest()).toContain('one two');
});

test('a reply of 2,000 chunks costs a few dozen statements', async () => {
  const chunks = Array.from({ length: 2000 }, (_, index) => `chunk ${index} `);
  await using servers = await startTwoServers([{ chunks }]);
  const { response, path } = await servers.a.start();
  const beganMs = performance.now();
  const whole = await new SseText(response).rest();
  const followed = await new SseText(await servers.b.send(path)).rest();
  expect(followed === whole).toBe(true);
  expect(servers.a.statements()).toBeLessThan(60 + (performance.now() - beganMs) / 100);
});

test('a slow reply costs no statement per chunk without remote followers', async () => {
  const gates = Array.from({ length: 100 }, () => new Gate());
  await using servers = await startTwoServers([{ chunks: gates.flatMap((gate, index) => [`chunk ${index} `, gate]) }]);
  const { response } = await servers.a.start();
  const beganMs = performance.now();
  for (const gate of gates) {
    await gate.reached;
    // Longer than a statement of the relay takes.
    await servers.query('SELECT pg_sleep(0.002)');
    gate.open();
  }
  await response.text();
  // Written every fifth of a second.
  expect(servers.a.statements()).toBeLessThan(50 + (performance.now() - beganMs) / 100);
});
