import { afterEach, beforeEach, expect, test } from 'vitest';
import { UnconsumedStepsError, UnexpectedRequestError } from '../errors.ts';
import { Gate } from '../gate.ts';
import { cutReply, errorReply, hangReply, jsonReply, sseReply } from './fake-gemini-reply.ts';
import { FakeGeminiServer } from './fake-gemini-server.ts';
import { recordedReplies } from './gemini-recording.ts';
import { wireChunks, wireResponse } from './wire-response.ts';

let server: FakeGeminiServer;
beforeEach(async () => {
  server = await FakeGeminiServer.start();
});
afterEach(() => server.close());

function post(action: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${server.url}/v1beta/models/m:${action}`, { method: 'POST', body: '{"contents":[]}', ...init });
}
const generate = (init?: RequestInit) => post('generateContent', init);
const streamGenerate = (init?: RequestInit) => post('streamGenerateContent?alt=sse', init);

test('jsonReply sends a JSON body', async () => {
  server.enqueue(jsonReply(wireResponse({ text: 'Hello', usage: { totalTokenCount: 3 } })));
  const response = await generate();
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(await response.json()).toEqual({
    candidates: [{ content: { parts: [{ text: 'Hello' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    modelVersion: 'gemini-2.5-flash',
    responseId: 'fake-response',
    usageMetadata: { totalTokenCount: 3 },
  });
  server.assertConsumed();
});

test('sseReply sends data lines, each followed by an empty line', async () => {
  server.enqueue(sseReply([{ a: 1 }, 'data: as it is\r\n\r\n']));
  const response = await streamGenerate();
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(await response.text()).toBe('data: {"a":1}\r\n\r\ndata: as it is\r\n\r\n');
});

test('wireChunks ends with a finish reason', () => {
  expect(wireChunks(['a', 'b'], { finishReason: 'MAX_TOKENS' })).toMatchObject([
    { candidates: [{ content: { parts: [{ text: 'a' }] } }] },
    { candidates: [{ content: { parts: [{ text: 'b' }] }, finishReason: 'MAX_TOKENS' }] },
  ]);
});

test('splitBytes sets the pieces in which the client gets the bytes', async () => {
  const text = 'Grüße 🌍';
  const bytes = new TextEncoder().encode(`data: ${JSON.stringify({ text })}\r\n\r\n`);
  server.enqueue(sseReply([{ text }], { split: [1] }));
  const pieces: Uint8Array[] = [];
  for await (const piece of (await streamGenerate()).body ?? []) pieces.push(piece);
  expect(Buffer.concat(pieces)).toEqual(Buffer.from(bytes));
  // The kernel may still join a few pieces.
  expect(pieces.length).toBeGreaterThan(bytes.length / 2);
});

test("errorReply has the shape of the service's errors", async () => {
  server.enqueue(
    errorReply(
      { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'slow down', retryDelay: '3s' },
      { headers: { 'retry-after': '3' } },
    ),
  );
  const response = await generate();
  expect(response.status).toBe(429);
  expect(response.headers.get('retry-after')).toBe('3');
  expect(await response.json()).toEqual({
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      message: 'slow down',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3s' }],
    },
  });
});

test('a closed socket fails the request, before or during the reply', async () => {
  server.enqueue(cutReply(), sseReply([{ a: 1 }], { end: 'cut' }));
  await expect(streamGenerate()).rejects.toThrow('fetch failed');
  const response = await streamGenerate();
  await expect(response.text()).rejects.toThrow('terminated');
  expect(server.requests.map(({ closedByClient }) => closedByClient)).toEqual([false, false]);
});

test('a gate delays the reply, or the frames after it', async () => {
  const whole = new Gate();
  const rest = new Gate();
  server.enqueue(sseReply([{ a: 1 }, rest, { b: 2 }], { gate: whole }));
  const asked = streamGenerate();
  await whole.reached;
  whole.open();
  const reader = (await asked).body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe('data: {"a":1}\r\n\r\n');
  await rest.reached;
  rest.open();
  expect((await reader?.read())?.value).toBe('data: {"b":2}\r\n\r\n');
  expect((await reader?.read())?.done).toBe(true);
});

test('a request records that the client closed it', async () => {
  server.enqueue(hangReply(), sseReply([{ a: 1 }], { end: 'hang' }), jsonReply({}));
  for (const index of [0, 1]) {
    const controller = new AbortController();
    const asked = streamGenerate({ signal: controller.signal }).then((response) => response.text());
    const request = await server.request(index);
    expect(request.closedByClient).toBe(false);
    controller.abort();
    await expect(asked).rejects.toThrow();
    await request.ended;
    expect(request.closedByClient).toBe(true);
  }
  await (await generate()).text();
  const whole = await server.request(2);
  await whole.ended;
  expect(whole.closedByClient).toBe(false);
});

test('requests are recorded with path, headers and parsed body', async () => {
  server.enqueue(jsonReply({}));
  await generate({ headers: { 'X-Goog-Api-Key': 'k' }, body: '{"contents":[{"role":"user"}]}' });
  expect(server.requests).toMatchObject([
    {
      method: 'POST',
      path: '/v1beta/models/m:generateContent',
      apiVersion: 'v1beta',
      model: 'm',
      stream: false,
      connection: 0,
      headers: { 'x-goog-api-key': 'k' },
      body: { contents: [{ role: 'user' }] },
    },
  ]);
});

test('a function computes the reply from the request', async () => {
  server.enqueue(({ model }) => jsonReply({ model }));
  expect(await (await generate()).json()).toEqual({ model: 'm' });
});

test('a function that throws makes assertConsumed fail', async () => {
  server.enqueue(() => {
    throw new TypeError('not what I wanted');
  });
  expect((await generate()).status).toBe(400);
  expect(() => server.assertConsumed()).toThrow('reply 1 threw: not what I wanted');
});

test('a request beyond the script is refused and makes assertConsumed fail', async () => {
  const response = await generate();
  expect(response.status).toBe(400);
  expect(() => server.assertConsumed()).toThrow(UnexpectedRequestError);
  expect(() => server.assertConsumed()).toThrow('request 1 (/v1beta/models/m:generateContent) was not expected');
});

test('an unknown path or an invalid JSON body makes assertConsumed fail', async () => {
  expect((await fetch(`${server.url}/nowhere`)).status).toBe(400);
  expect(() => server.assertConsumed()).toThrow('GET /nowhere is not a request of the Gemini API');
  server.enqueue(jsonReply({}));
  expect((await generate({ body: '{' })).status).toBe(400);
});

test('frames for a request without streaming make assertConsumed fail', async () => {
  server.enqueue(sseReply([{}]));
  expect((await generate()).status).toBe(400);
  expect(() => server.assertConsumed()).toThrow('reply 1 is streamed');
});

test('unused replies make assertConsumed fail', () => {
  server.enqueue(jsonReply({}), jsonReply({}));
  expect(() => server.assertConsumed()).toThrow(UnconsumedStepsError);
});

test('a recording is replayed, and an error reply has the status it names', async () => {
  const error = { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } };
  server.enqueue(
    ...recordedReplies({
      stream: true,
      interactions: [{ status: 200, contentType: 'text/event-stream', chunks: [{ a: 1 }, { b: 2 }] }],
    }),
    ...recordedReplies({
      stream: false,
      interactions: [{ status: 200, contentType: 'application/json', chunks: [error] }],
    }),
  );
  expect(await (await streamGenerate()).text()).toBe('data: {"a":1}\r\n\r\ndata: {"b":2}\r\n\r\n');
  const response = await generate();
  expect(response.status).toBe(429);
  expect(await response.json()).toEqual(error);
  server.assertConsumed();
});

test('await using closes the server at the end of its block', async () => {
  let url: string;
  {
    await using short = await FakeGeminiServer.start();
    url = short.url;
  }
  await expect(fetch(url)).rejects.toThrow('fetch failed');
});

test.each<[unknown, string]>([
  [{}, 'FakeGeminiServer: expected a list of replies, got an object; write FakeGeminiServer.start([jsonReply('],
  [['hi'], "FakeGeminiServer: steps[0]: expected a reply or a function, got a string; write jsonReply(wireResponse('"],
  [[{ candidates: [] }], 'FakeGeminiServer: steps[0]: has no option "candidates"; write jsonReply({ candidates })'],
  [[{ frame: [] }], 'FakeGeminiServer: steps[0]: has no option "frame"; did you mean "frames"?'],
])('the script %j is refused, and the error says what to write', async (steps, message) => {
  await expect(FakeGeminiServer.start(steps as never)).rejects.toThrow(message);
});

test('replies and live scripts that are added later are checked too', async () => {
  await using started = await FakeGeminiServer.start();
  expect(() => started.enqueue({ stats: 200 } as never)).toThrow(
    'FakeGeminiServer.enqueue: steps[0]: has no option "stats"; did you mean "status"?',
  );
  expect(() => started.live.enqueue('hi' as never)).toThrow(
    'FakeGeminiLive.enqueue: scripts[0]: expected a list of steps or an object with steps, got a string',
  );
  expect(() => started.live.enqueue({ step: [] } as never)).toThrow('has no option "step"; did you mean "steps"?');
});
