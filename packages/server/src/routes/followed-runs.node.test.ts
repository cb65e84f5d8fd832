import { request } from 'node:http';
import { Gate } from '@eventloom/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { ASK, CHUNKS, EVENT_IDS, framesOf, readUntil, servers, setUp, STREAM, textOf } from './fixtures/run-server.ts';

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.shutDown()));
});

describe('an unfinished run', () => {
  const runPath = (id: string | null): string => `/apps/app/users/ann/sessions/s/runs/${id}`;

  test('can be followed again without gaps or repetitions, including chunks', async () => {
    const gate = new Gate();
    const { url, post } = await setUp([{ chunks: ['one ', 'two ', gate, 'three ', 'four'] }]);
    const response = await post('/run_sse', STREAM, EVENT_IDS);
    const id = response.headers.get('Eventloom-Invocation-Id');
    const seen = framesOf(await readUntil(response, '"two "'));
    const again = await fetch(`${url}${runPath(id)}`, { headers: { 'last-event-id': String(seen.at(-1)?.id) } });
    gate.open();
    const rest = framesOf(await again.text());
    const all = framesOf(await (await fetch(`${url}${runPath(id)}`)).text());
    expect([...seen, ...rest]).toEqual(all);
    expect(all.map(textOf)).toEqual(['one ', 'two ', 'three ', 'four', 'one two three four']);
  });

  test('can be followed by query parameter, and the header wins', async () => {
    const { url, post } = await setUp([CHUNKS]);
    const response = await post('/run_sse', STREAM);
    await response.text();
    const path = `${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`;
    const ids = async (suffix: string, headers = {}): Promise<number[]> =>
      framesOf(await (await fetch(`${path}${suffix}`, { headers })).text()).map(({ id }) => id);
    const [first = 0, second = 0, third = 0, last = 0] = await ids('');
    expect([first < second, second < third, third < 1, last]).toEqual([true, true, true, 1]);
    expect(await ids(`?lastEventId=${third}`)).toEqual([last]);
    expect(await ids(`?lastEventId=${third}`, { 'last-event-id': `${first}` })).toEqual([second, third, last]);
  });

  test('answers 204 at its end, which stops an EventSource', async () => {
    const { url, post } = await setUp(['done']);
    const response = await post('/run_sse', ASK);
    await response.text();
    const path = `${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`;
    expect((await fetch(`${path}?lastEventId=1`)).status).toBe(204);
  });

  test.each([
    ['x', 400, 'INVALID_REQUEST'],
    ['-1', 400, 'INVALID_REQUEST'],
    ['1,1', 400, 'INVALID_REQUEST'],
    ['9999999999999999999', 400, 'INVALID_REQUEST'],
    ['2', 404, 'RUN_EVENT_NOT_FOUND'],
    ['99', 404, 'RUN_EVENT_NOT_FOUND'],
    // A chunk after the newest event: a process that died may have streamed it.
    ['1.5', 204, undefined],
    ['1.999999999', 204, undefined],
  ])('answers the last id %j with %i, before and after its log is dropped', async (id, status, code) => {
    for (const limits of [{}, { maxKeptRuns: 0 }]) {
      const { url, post } = await setUp(['done'], limits);
      const response = await post('/run_sse', ASK);
      await response.text();
      const path = `${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`;
      const answer = await fetch(path, { headers: { 'last-event-id': id } });
      expect(answer.status).toBe(status);
      if (code !== undefined) expect(await answer.json()).toMatchObject({ code });
    }
  });

  test('that failed returns its error after its log was dropped, and to a repeated request', async () => {
    const { url, post } = await setUp([new Error('broken')], { maxKeptRuns: 0 });
    const request = { ...ASK, requestId: 'r1' };
    const first = await post('/run', request);
    expect([first.status, await first.json()]).toMatchObject([502, { error: expect.any(String) }]);
    const again = await post('/run', request);
    expect([again.status, await again.json()]).toMatchObject([502, { error: expect.any(String) }]);
    const frames = framesOf(await (await fetch(`${url}${runPath('r1')}`)).text());
    expect(frames.at(-1)?.data).toMatchObject({ error: expect.any(String), code: expect.any(String) });
    expect((await fetch(`${url}${runPath('r1')}?lastEventId=${frames.at(-1)?.id}`)).status).toBe(204);
  });

  test('can be cancelled by its request id', async () => {
    const gate = new Gate();
    const { url, post } = await setUp([{ gate, text: 'late' }]);
    const running = post('/run', { ...ASK, requestId: 'r1' });
    await gate.reached;
    expect((await fetch(`${url}${runPath('r1')}`, { method: 'DELETE' })).status).toBe(200);
    expect(await (await running).json()).toMatchObject({ code: 'RUN_ABORTED' });
  });

  test.each(['webhook', 'ifKnown', 'if_known', 'requestId'])(
    'is not started by a body with %s if its route does not support that value',
    async (field) => {
      const { post, sessionService } = await setUp([]);
      for (const path of ['/run', '/run_sse']) {
        const answer = await post(path, { ...ASK, [field]: ' ' });
        expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
      }
      expect((await sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' }))?.events).toEqual([]);
    },
  );

  test('that is unknown or of another session is not found', async () => {
    const { url, post } = await setUp(['done']);
    const response = await post('/run_sse', ASK);
    await response.text();
    const id = response.headers.get('Eventloom-Invocation-Id');
    for (const path of [
      runPath('e-nope'),
      runPath(id).replace('sessions/s', 'sessions/t'),
      runPath(id).replace('ann', 'bob'),
    ]) {
      const answer = await fetch(`${url}${path}`);
      expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'RUN_NOT_FOUND' }]);
    }
  });

  test('is read from the session after its log was dropped', async () => {
    const { url, post } = await setUp([{ chunks: ['one ', 'two '.repeat(100), 'three'] }], { maxRunChars: 0 });
    const response = await post('/run_sse', STREAM);
    await response.text();
    const answer = await fetch(`${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`);
    expect(framesOf(await answer.text()).map((frame) => [frame.id, frame.data.partial])).toEqual([[1, undefined]]);
  });

  test('answers with advice if its chunks were dropped before their event was stored', async () => {
    const gate = new Gate();
    const { url, post } = await setUp([{ chunks: ['one ', 'two ', 'three ', 'four ', gate, 'five'] }], {
      maxRunChars: 0,
    });
    const response = await post('/run_sse', STREAM);
    await gate.reached;
    const answer = await fetch(`${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`);
    expect([answer.status, await answer.json()]).toMatchObject([410, { code: 'RUN_EVENTS_GONE' }]);
    gate.open();
    await response.text();
  });

  test('is cancelled by DELETE and keeps its committed events', async () => {
    const gate = new Gate();
    const { url, post, sessionService } = await setUp([{ calls: [{ name: 'set_mood' }] }, { text: 'late', gate }]);
    const response = await post('/run_sse', ASK);
    await gate.reached;
    const path = `${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`;
    const cancelled = await fetch(path, { method: 'DELETE' });
    expect([cancelled.status, await cancelled.json()]).toEqual([200, null]);
    expect(framesOf(await response.text()).at(-1)?.data).toEqual({
      error: 'the run was cancelled',
      code: 'RUN_ABORTED',
    });
    const session = await sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    expect(session?.state).toEqual({ mood: 'good' });
    expect((await fetch(path, { method: 'DELETE' })).status).toBe(200);
  });

  test('ends when its session is deleted', async () => {
    const gate = new Gate();
    const { url, post } = await setUp([{ text: 'late', gate }], { respondAfterMs: 0 });
    const response = await post('/run_sse', ASK);
    await gate.reached;
    await fetch(`${url}/apps/app/users/ann/sessions/s`, { method: 'DELETE' });
    expect(await response.text()).toContain('the session was deleted');
    expect((await fetch(`${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`)).status).toBe(404);
  });
});

test('a lost connection does not end the run', async () => {
  const gate = new Gate();
  const { url, sessionService } = await setUp([{ chunks: ['one', gate, 'two'] }]);
  const client = request(`${url}/run_sse`, { method: 'POST' }, (answer) => answer.once('data', () => client.destroy()));
  const closed = new Promise<void>((resolve) => client.once('close', resolve));
  client.on('error', () => undefined).end(JSON.stringify(STREAM));
  await closed;
  gate.open();
  const key = { appName: 'app', userId: 'ann', sessionId: 's' };
  await sessionService.releaseLease(await sessionService.acquireLease(key));
  const session = await sessionService.getSession(key);
  expect(session?.events.at(-1)?.content?.parts).toEqual([{ text: 'onetwo' }]);
});
