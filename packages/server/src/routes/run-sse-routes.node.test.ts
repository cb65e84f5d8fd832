import { ConfigurationError } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { ASK, CHUNKS, EVENT_IDS, framesOf, servers, setUp, STREAM, textOf } from './fixtures/run-server.ts';

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.shutDown()));
});

describe('POST /run_sse', () => {
  test.each([EVENT_IDS, { 'last-event-id': '' }, { 'last-event-id': '7' }])(
    'numbers stored events from 1, and chunks between them, for a client that sends %j',
    async (headers) => {
      const { post } = await setUp([CHUNKS]);
      const text = await (await post('/run_sse', STREAM, headers)).text();
      expect(text).toMatch(/^id: 0\.001000001\ndata: /);
      expect(framesOf(text).map(({ id }) => id)).toEqual([0.001000001, 0.001000002, 0.001000003, 1]);
    },
  );

  test.each([{}, { 'eventloom-event-ids': '0' }])(
    'does not number frames for a client that sends %j',
    async (headers) => {
      const { post } = await setUp([{ chunks: ['one'], error: new ConfigurationError('broke') }]);
      const frames = (await (await post('/run_sse', STREAM, headers)).text()).split('\n\n');
      expect(frames.pop()).toBe('');
      expect(frames.length).toBeGreaterThan(2);
      for (const frame of frames) expect(frame).toMatch(/^data: \{.*\}$/);
      expect(frames.at(-1)).toBe('data: {"error":"broke","code":"CONFIGURATION"}');
    },
  );

  test('streams chunks and the whole event', async () => {
    const { post } = await setUp([CHUNKS]);
    const response = await post('/run_sse', STREAM);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const frames = framesOf(await response.text());
    expect(frames.map(textOf)).toEqual(['one ', 'two ', 'three', 'one two three']);
    expect(frames.map(({ data }) => data.partial)).toEqual([true, true, true, undefined]);
  });

  test('streams only whole events without streaming', async () => {
    const { post } = await setUp([CHUNKS]);
    expect(framesOf(await (await post('/run_sse', ASK)).text()).map(textOf)).toEqual(['one two three']);
  });

  test('sends the invocation id before the first event, and each chunk before the next is made', async () => {
    const [first, second] = [new Gate(), new Gate()];
    const { post } = await setUp([{ chunks: [first, 'one', second, 'two'] }], { respondAfterMs: 0 });
    const response = await post('/run_sse', STREAM);
    expect(response.headers.get('Eventloom-Invocation-Id')).toMatch(/^e-/);
    const reader = (response.body ?? new ReadableStream()).getReader();
    first.open();
    expect(new TextDecoder().decode((await reader.read()).value as Uint8Array)).toContain('"one"');
    second.open();
    await reader.cancel();
  });

  test('ends with the error of a run that fails', async () => {
    const { post } = await setUp([{ chunks: ['one'], error: new ConfigurationError('broke') }]);
    const response = await post('/run_sse', STREAM);
    const frames = framesOf(await response.text());
    expect(response.status).toBe(200);
    expect(frames.at(-1)?.data).toEqual({ error: 'broke', code: 'CONFIGURATION' });
    expect(frames.at(-2)?.data).toMatchObject({ errorCode: 'CONFIGURATION', errorMessage: 'broke' });
  });

  test.each([
    ['an unknown app', { appName: 'nope' }, 404, 'APP_NOT_FOUND'],
    ['an unknown session', { sessionId: 'nope' }, 404, 'SESSION_NOT_FOUND'],
    ['an empty message', { newMessage: { parts: [] } }, 400, 'INVALID_MESSAGE'],
    ['a message without text', { newMessage: { parts: [{ text: '' }] } }, 400, 'INVALID_MESSAGE'],
    ['a function call', { newMessage: { parts: [{ functionCall: { name: 'f' } }] } }, 400, 'INVALID_MESSAGE'],
    [
      'an answer to no call',
      { newMessage: { parts: [{ functionResponse: { id: 'x', response: {} } }] } },
      400,
      'INVALID_MESSAGE',
    ],
    ['the role of a model', { newMessage: { role: 'model', parts: [{ text: 'x' }] } }, 400, 'INVALID_MESSAGE'],
    ['no message', { newMessage: undefined }, 400, 'INVALID_REQUEST'],
    ['a part that is a number', { newMessage: { parts: [5] } }, 400, 'INVALID_REQUEST'],
    ['bytes that are not base64', { newMessage: { parts: [{ inlineData: { data: '!' } }] } }, 400, 'INVALID_REQUEST'],
    ['an empty user', { userId: '' }, 400, 'INVALID_REQUEST'],
    ['a session that is a number', { sessionId: 5 }, 400, 'INVALID_REQUEST'],
    ['an impossible onBusy', { onBusy: 'wait' }, 400, 'INVALID_REQUEST'],
    ['streaming that is a text', { streaming: 'yes' }, 400, 'INVALID_REQUEST'],
    ['a state key that cannot be', { stateDelta: { '': 1 } }, 400, 'STATE_KEY'],
    ['a session id with NUL', { sessionId: 'a\0b' }, 400, 'INVALID_REQUEST'],
    ['a user with a lone surrogate', { userId: '\ud800' }, 400, 'INVALID_REQUEST'],
    ['the id of a run that the session does not have', { invocationId: 'e-1', newMessage: null }, 404, 'RUN_NOT_FOUND'],
  ])('with %s is refused and writes nothing', async (_what, change, status, code) => {
    const { post, sessionService } = await setUp([]);
    for (const path of ['/run', '/run_sse']) {
      const response = await post(path, { ...ASK, ...change });
      expect([response.status, await response.json()]).toEqual([status, { error: expect.stringMatching(/./), code }]);
    }
    const session = await sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    expect(session?.events).toEqual([]);
  });

  test('is refused immediately in a busy session with onBusy reject', async () => {
    const gate = new Gate();
    const { post } = await setUp([{ text: 'done', gate }], { respondAfterMs: 0 });
    const first = await post('/run_sse', ASK);
    await gate.reached;
    const second = await post('/run', { ...ASK, onBusy: 'reject' });
    expect([second.status, second.headers.get('retry-after')]).toEqual([409, '1']);
    expect(await second.json()).toMatchObject({ code: 'SESSION_BUSY' });
    gate.open();
    await first.text();
  });

  test('is refused when the server has its maximum number of runs', async () => {
    const gate = new Gate();
    const { post } = await setUp([{ text: 'done', gate }], { respondAfterMs: 0, maxRuns: 1 });
    const first = await post('/run_sse', ASK);
    const second = await post('/run_sse', ASK);
    expect([second.status, second.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await second.json()).toMatchObject({ code: 'SERVER_BUSY' });
    gate.open();
    await first.text();
  });
});
