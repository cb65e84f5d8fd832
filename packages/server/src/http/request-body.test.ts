import { fixedPlatform } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { DEFAULT_LIMITS, type ServerLimits } from '../server-limits.ts';
import { parseJson } from './request-body.ts';
import { KEY, serveApp, SESSION } from '../fixtures/server-scenario.ts';

function setUp(limits: Partial<ServerLimits> = {}) {
  const { send } = serveApp({ steps: ['done'], limits });
  return async (method: string, path: string, body?: object) => {
    const response = await send(method, path, body);
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };
}

const HI = { newMessage: { parts: [{ text: 'hi' }] } };
const MESSAGE = { ...KEY, ...HI };
const texts = (length: number) => Array.from({ length }, () => ({ text: 'x' }));
const keys = (length: number) => Object.fromEntries(Array.from({ length }, (_, at) => [`k${at}`, at]));
const events = (length: number) => Array.from({ length }, () => ({ author: 'agent' }));

const COUNTED: readonly (readonly [string, string, string, (count: number) => object, keyof ServerLimits])[] = [
  ['parts of a message', 'POST', '/run', (n) => ({ ...KEY, newMessage: { parts: texts(n) } }), 'maxBodyParts'],
  ['parts, in snake case', 'POST', '/run_sse', (n) => ({ ...KEY, new_message: { parts: texts(n) } }), 'maxBodyParts'],
  ['keys beside a message', 'POST', '/run', (n) => ({ ...KEY, newMessage: {}, stateDelta: keys(n) }), 'maxBodyKeys'],
  ['events', 'POST', SESSION, (n) => ({ events: events(n) }), 'maxBodyEvents'],
  [
    'parts of an event',
    'POST',
    SESSION,
    (n) => ({ events: [...events(1), { author: 'a', content: { parts: texts(n) } }] }),
    'maxBodyParts',
  ],
  [
    'keys that an event changes',
    'POST',
    '/apps/app/users/ann/sessions',
    (n) => ({ events: [{ author: 'a', actions: { state_delta: keys(n) } }] }),
    'maxBodyKeys',
  ],
  ['keys of a state', 'POST', SESSION, (n) => ({ state: keys(n) }), 'maxBodyKeys'],
  ['keys of a state that is the body', 'POST', SESSION, (n) => keys(n), 'maxBodyKeys'],
  ['keys that are changed', 'PATCH', SESSION, (n) => ({ stateDelta: keys(n) }), 'maxBodyKeys'],
  ['keys of metadata', 'POST', '/run', (n) => ({ ...MESSAGE, customMetadata: keys(n) }), 'maxBodyKeys'],
  [
    'keys of metadata, in snake case',
    'POST',
    '/run_sse',
    (n) => ({ ...MESSAGE, custom_metadata: keys(n) }),
    'maxBodyKeys',
  ],
  ['keys of metadata of a run', 'POST', `${SESSION}/runs`, (n) => ({ ...HI, customMetadata: keys(n) }), 'maxBodyKeys'],
  [
    'keys of metadata of an event',
    'POST',
    SESSION,
    (n) => ({ events: [{ author: 'a', customMetadata: keys(n) }] }),
    'maxBodyKeys',
  ],
];

test.each(COUNTED)(
  'more %s than the limit are refused, with the default and with a configured limit',
  async (...of) => {
    const [, method, path, bodyOf, limit] = of;
    const most = limit === 'maxBodyEvents' ? 10_000 : 1000;
    const { status, json } = await setUp()(method, path, bodyOf(most + 1));
    expect([status, json]).toEqual([
      413,
      { error: expect.stringContaining(`limits.${limit}`), code: 'BODY_TOO_LARGE' },
    ]);
    const send = setUp({ [limit]: 3 });
    expect((await send(method, path, bodyOf(4))).status).toBe(413);
    expect((await send(method, path, bodyOf(3))).status).not.toBe(413);
  },
);

test('parts up to the limit are accepted, and values inside state and arguments do not count', async () => {
  const send = setUp({ maxBodyParts: 2, maxBodyEvents: 2, maxBodyKeys: 2 });
  const state = { a: keys(9), parts: texts(9) };
  expect((await send('POST', SESSION, { state, events: [{ author: 'a', content: { parts: texts(2) } }] })).status).toBe(
    200,
  );
  expect((await send('PATCH', SESSION, { stateDelta: state })).status).toBe(200);
});

const FIELDS: readonly (readonly [string, string, object])[] = [
  ['newMessage', '/run', { ...KEY, newMessage: { parts: texts(1), ...keys(1000) } }],
  ['newMessage.parts[1]', '/run_sse', { ...KEY, newMessage: { parts: [...texts(1), { text: 'x', ...keys(1000) }] } }],
  ['events[1]', SESSION, { events: [...events(1), { author: 'a', ...keys(1000) }] }],
  ['events[0].actions', SESSION, { events: [{ author: 'a', actions: { ...keys(1001) } }] }],
  ['events[0].content.parts[0]', SESSION, { events: [{ author: 'a', content: { parts: [keys(1001)] } }] }],
];

test.each(FIELDS)('an object of more than 1,000 fields is refused: %s', async (at, path, body) => {
  const { status, json } = await setUp()('POST', path, body);
  expect([status, json]).toEqual([413, { error: `${at}: has more than 1000 fields`, code: 'BODY_TOO_LARGE' }]);
});

const INNER = { a: { b: [keys(50), keys(49)] } };
const TOTAL: readonly (readonly [string, string, object])[] = [
  ['POST', '/run', { ...KEY, newMessage: { parts: [{ text: 'x', partMetadata: INNER }] } }],
  ['POST', '/run', { ...MESSAGE, customMetadata: INNER }],
  ['POST', SESSION, { state: INNER }],
  ['PATCH', SESSION, { stateDelta: INNER }],
];

test.each(TOTAL)('keys at any depth of the body are counted: %s %s %j', async (method, path, body) => {
  const refused = await setUp({ maxBodyTotalKeys: 100 })(method, path, body);
  const error = 'body: has more than 100 keys in total, which is limits.maxBodyTotalKeys of this server';
  expect(refused).toEqual({ status: 413, json: { error, code: 'BODY_TOO_LARGE' } });
  expect((await setUp({ maxBodyTotalKeys: 110 })(method, path, body)).status).not.toBe(413);
});

test('each imported event may add 50 keys to the body', async () => {
  const send = setUp({ maxBodyTotalKeys: 100 });
  const bodyOf = (count: number) => ({
    events: [...events(18), { author: 'a', customMetadata: keys(count / 2) }, { author: 'a', state: keys(count / 2) }],
  });
  expect((await send('POST', SESSION, bodyOf(1060))).status).toBe(200);
  expect((await send('POST', SESSION, bodyOf(1100))).status).toBe(413);
});

const LISTS: readonly (readonly [string, unknown])[] = [
  ['numbers', Array(100).fill(0)],
  ['empty objects', Array(100).fill({})],
  ['empty lists', Array(50).fill([[]])],
  ['values of keys', Array(34).fill({ a: { b: 0 } })],
];

test.each(LISTS)('values at any depth of the body are counted: %s', async (_, list) => {
  for (const [method, path, body] of [
    ['POST', '/run', { ...MESSAGE, customMetadata: { list } }],
    ['POST', '/run', { ...MESSAGE, unknown: list }],
    ['POST', SESSION, { state: { list } }],
    ['PATCH', SESSION, { stateDelta: { list } }],
  ] as const) {
    const refused = await setUp({ maxBodyTotalValues: 100 })(method, path, body);
    const error = 'body: has more than 100 values in total, which is limits.maxBodyTotalValues of this server';
    expect(refused).toEqual({ status: 413, json: { error, code: 'BODY_TOO_LARGE' } });
    expect((await setUp({ maxBodyTotalValues: 220 })(method, path, body)).status).not.toBe(413);
  }
});

test('each imported event may add 100 values to the body', async () => {
  const send = setUp({ maxBodyTotalValues: 100 });
  const bodyOf = (count: number) => ({ events: [...events(19), { author: 'a', customMetadata: { a: Array(count) } }] });
  expect((await send('POST', SESSION, bodyOf(1900))).status).toBe(200);
  expect((await send('POST', SESSION, bodyOf(2100))).status).toBe(413);
});

test('more values than the limit are refused before the JSON is parsed', () => {
  const text = `[${'{},'.repeat(DEFAULT_LIMITS.maxBodyTotalValues / 2 - 1)}`;
  expect(() => parseJson('body', text, DEFAULT_LIMITS)).toThrow('body: is not JSON');
  expect(() => parseJson('body', `${text}{},`, DEFAULT_LIMITS)).toThrow('body: has more than 200000 values in total');
});

test('texts that look like keys are not counted', async () => {
  const text = '"a": 1, \\"b\\": 2, "c" : \\\\'.repeat(100);
  const send = setUp({ maxBodyTotalKeys: 10 });
  await send('POST', SESSION);
  const body = { ...KEY, newMessage: { parts: [{ text }] }, customMetadata: { [text]: text } };
  expect((await send('POST', '/run', body)).status).toBe(200);
  expect((await send('POST', '/run', { ...body, stateDelta: { a: 1, b: { c: 1 } } })).status).toBe(413);
});

test.each(['"', '\\"', '\\\\', ''])('JSON that ends inside a text is refused: %j', (end) => {
  const text = `{"newMessage": {"parts": [{"text": "${'x'.repeat(100)}${end}`;
  expect(() => parseJson('body', text, { ...DEFAULT_LIMITS, maxBodyTotalKeys: 10 })).toThrow('body: is not JSON');
});

test('metadata that every event of a run stores is limited, and too much is refused before anything is stored', async () => {
  const send = setUp();
  await send('POST', SESSION);
  const metadata = (chars: number) => ({ customMetadata: { a: 'x'.repeat(chars - '{"a":""}'.length) } });
  for (const [path, message] of [
    ['/run', MESSAGE],
    ['/run_sse', MESSAGE],
    [`${SESSION}/runs`, HI],
  ] as const) {
    const { status, json } = await send('POST', path, { ...message, ...metadata(16_385) });
    const error = expect.stringMatching(/^customMetadata: .*limits\.maxBodyMetadataChars/) as string;
    expect([status, json]).toEqual([413, { error, code: 'BODY_TOO_LARGE' }]);
  }
  expect((await send('GET', SESSION)).json['events']).toEqual([]);
  expect((await send('POST', '/run', { ...MESSAGE, ...metadata(16_384) })).status).toBe(200);
  expect((await setUp({ maxBodyMetadataChars: 20 })('POST', '/run', { ...MESSAGE, ...metadata(21) })).status).toBe(413);
});

test('the OpenAPI document contains the limits', async () => {
  const { json } = await setUp({ maxBodyParts: 7, maxBodyEvents: 8, maxBodyKeys: 9 })('GET', '/openapi.json');
  expect(json['components']).toMatchObject({
    schemas: {
      ContentInput: { properties: { parts: { maxItems: 7 } } },
      RunBody: { properties: { stateDelta: { maxProperties: 9 }, customMetadata: { maxProperties: 9 } } },
      CreateSessionBody: { properties: { events: { maxItems: 8 }, state: { maxProperties: 9 } } },
      PatchSessionBody: { properties: { stateDelta: { maxProperties: 9 } } },
      EventActionsInput: { properties: { stateDelta: { maxProperties: 9 } } },
    },
  });
  // Responses of the server may exceed the limits.
  expect(JSON.stringify(Object(json['components']).schemas.Content)).not.toContain('maxItems');
});

test('a session of many events is created in slices, so that other requests run in between', async () => {
  const send = setUp();
  let turns = 0;
  let isMade = false;
  const making = send('POST', SESSION, { events: events(2000) }).finally(() => (isMade = true));
  while (!isMade) {
    turns++;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  expect((await making).status).toBe(200);
  expect(turns).toBeGreaterThan(10);
});

test('large bodies that arrive together are read one after the other, so that a small request does not wait for all of them', async () => {
  const send = setUp();
  const answered: string[] = [];
  const request = (name: string, body: object) =>
    send('POST', '/run', { ...KEY, userId: name, ...body }).finally(() => answered.push(name));
  const large = { newMessage: { parts: [{ text: 'x'.repeat(200_000) }] } };
  await Promise.all([...Array.from({ length: 40 }, (_, at) => request(`large ${at}`, large)), request('small', HI)]);
  expect(answered).toHaveLength(41);
  expect(answered.indexOf('small')).toBeLessThan(20);
});

/** A request whose body arrives in the pieces that the test sends, and whose length is unknown. */
function slowRequest(headers: Record<string, string> = {}): {
  readonly request: Request;
  readonly arrive: (bytes: number) => void;
} {
  const pieces = new TransformStream<Uint8Array, Uint8Array>();
  const writer = pieces.writable.getWriter();
  const init = { method: 'POST', body: pieces.readable, duplex: 'half', headers };
  return {
    request: new Request('http://localhost/run', init),
    arrive: (bytes) => void writer.write(new TextEncoder().encode(' '.repeat(bytes))).catch(() => undefined),
  };
}

test('a body of which fewer than 64 KiB arrive in 30 seconds is refused, and its bytes are free', async () => {
  const platform = fixedPlatform();
  const { server } = serveApp({ platform, limits: { maxBodyBytesInFlight: 200_000 } });
  const { request, arrive } = slowRequest();
  const sent = server.fetch(request);
  const statusOf = async (bytes: number) =>
    (await server.fetch(new Request('http://localhost/run', { method: 'POST', body: 'x'.repeat(bytes) }))).status;
  arrive(70_000);
  await expect.poll(() => statusOf(131_000)).toBe(503);
  platform.advance(30_000);
  arrive(60_000);
  await expect.poll(() => statusOf(71_000)).toBe(503);
  platform.advance(30_000);
  const response = await sent;
  expect([response.status, await response.json()]).toEqual([
    400,
    { error: 'body: fewer than 64 KiB arrived in 30 seconds; send the request again', code: 'INVALID_REQUEST' },
  ]);
  await expect.poll(() => statusOf(200_000)).toBe(400);
});

test('a body that announces 64 KiB and stops counts only what has arrived, and is refused after 30 seconds', async () => {
  const platform = fixedPlatform();
  const { server } = serveApp({ platform, limits: { maxBodyBytesInFlight: 100_000 } });
  const { request, arrive } = slowRequest({ 'content-length': '65536' });
  let status: number | undefined;
  const sent = Promise.resolve(server.fetch(request)).then((response) => (status = response.status));
  arrive(9000);
  const other = await server.fetch(new Request('http://localhost/run', { method: 'POST', body: 'x'.repeat(60_000) }));
  expect(other.status).toBe(400);
  expect(status).toBeUndefined();
  await expect.poll(() => (platform.advance(30_000), status)).toBe(400);
  await sent;
});
