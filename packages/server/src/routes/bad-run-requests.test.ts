import { expect, test } from 'vitest';
import { KEY, SESSION, serverScenario } from '../fixtures/server-scenario.ts';

const MESSAGE = { newMessage: { parts: [{ text: 'hi' }] } };
const RUN = { ...KEY, ...MESSAGE };
const ORIGIN = 'https://hooks.example';

/** A server, and a completed run with `requestId: 'known'`. */
async function setUp() {
  const steps = ['done', 'a second run'];
  const webhooks = { secret: `whsec_${btoa('s'.repeat(32))}`, origins: [ORIGIN] };
  const { send, sessionService } = await serverScenario({ steps, webhooks });
  const first = await send('POST', '/run', { ...RUN, requestId: 'known' });
  const runId = first.headers.get('eventloom-invocation-id') ?? '';
  await first.text();
  const stored = async () => [
    await sessionService.getSession(KEY),
    await sessionService.listRunWebhooks({ appName: 'app', includeOpen: true }),
  ];
  return { send, stored, runId };
}

const LONG = 'x'.repeat(257);

/** Invalid values of a field of the body, for every route that takes it. */
const fields: readonly (readonly [field: string, value: unknown, status: number])[] = [
  ['requestId', '', 400],
  ['requestId', ' ', 400],
  ['requestId', LONG, 400],
  ['requestId', 'ä'.repeat(129), 400],
  ['requestId', 'a\0b', 400],
  ['requestId', '\ud800', 400],
  ['requestId', '.', 400],
  ['requestId', '..', 400],
  ['requestId', 'a/../b', 400],
  ['requestId', 'a\nb', 400],
  ['requestId', 5, 400],
  ['requestId', true, 400],
  ['requestId', ['r-1'], 400],
  ['requestId', { id: 'r-1' }, 400],
  ['request_id', '', 400],
  ['request_id', 5, 400],
  ['ifKnown', '', 400],
  ['ifKnown', 'FOLLOW', 400],
  ['ifKnown', 'again', 400],
  ['ifKnown', 5, 400],
  ['ifKnown', ['follow'], 400],
  ['if_known', 'again', 400],
  ['onOpenRun', 'finish', 400],
  ['onOpenRun', 'nonsense', 400],
  ['on_open_run', 'close', 400],
  ['onBusy', 'wait', 400],
  ['onBusy', 5, 400],
  ['maxLlmCalls', 2, 400],
  ['invocationId', '', 400],
  ['invocationId', LONG, 400],
  ['invocationId', 5, 400],
  ['invocationId', 'a\x01b', 400],
  ['invocationId', 'a\r\nset-cookie: b', 400],
  ['invocationId', '..', 400],
];

const bodies = fields.flatMap(([field, value, status]) => [
  ['POST', '/run', { ...RUN, [field]: value }, status] as const,
  ['POST', '/run_sse', { ...RUN, [field]: value }, status] as const,
  ['POST', `${SESSION}/runs`, { ...MESSAGE, [field]: value }, status] as const,
]);

test.each([
  ...bodies,
  ['POST', '/run', { ...RUN, requestId: 'known', ifKnown: 'reject' }, 409] as const,
  ['POST', '/run_sse', { ...RUN, requestId: 'known', ifKnown: 'reject' }, 409] as const,
  ['POST', `${SESSION}/runs`, { ...MESSAGE, requestId: 'known', ifKnown: 'reject' }, 409] as const,
  ['POST', '/run', { ...RUN, webhook: { url: ORIGIN } }, 400] as const,
  ['POST', '/run_sse', { ...RUN, webhook: { url: ORIGIN } }, 400] as const,
  ...[5, 'text', true, [], [{ url: ORIGIN }], {}, { url: '' }, { url: null }, { url: ORIGIN, secret: 'x' }].map(
    (webhook) => ['POST', `${SESSION}/runs`, { ...MESSAGE, webhook }, 400] as const,
  ),
  ['POST', `${SESSION}/runs`, { ...MESSAGE, webhook: { url: 'https://other.example' } }, 403] as const,
])('%s %s with %j is refused with a code, and changes nothing', async (method, path, body, status) => {
  const { send, stored } = await setUp();
  const before = await stored();
  const response = await send(method, path, body);
  expect([response.status, response.headers.get('location'), await response.json()]).toEqual([
    status,
    null,
    {
      error: expect.stringMatching(/./),
      code: expect.stringMatching(/^[A-Z_]+$/),
      // The run that the first request with this id began.
      ...(status === 409 ? { run: expect.stringContaining(`${SESSION}/runs/e-`) } : {}),
    },
  ]);
  expect(await stored()).toEqual(before);
});

const HOSTILE_KEY = `${'k'.repeat(9000)}\u202e`;
const DEEP: unknown = JSON.parse(`${'['.repeat(220)}${']'.repeat(220)}`);

test.each<[string, object, number, string]>([
  ['/run', { ...RUN, newMessage: { parts: [{ text: 'a', [HOSTILE_KEY]: DEEP }] } }, 400, 'INVALID_MESSAGE'],
  ['/run', { ...RUN, newMessage: { role: HOSTILE_KEY, parts: [{ text: 'a' }] } }, 400, 'INVALID_MESSAGE'],
  ['/run', { ...RUN, stateDelta: { a: { [HOSTILE_KEY]: DEEP } } }, 400, 'STATE_VALUE'],
  ['/run', { ...RUN, customMetadata: { [HOSTILE_KEY]: DEEP } }, 400, 'INVALID_REQUEST'],
  [`${SESSION}/runs`, { ...MESSAGE, webhook: { url: ORIGIN, [HOSTILE_KEY]: 1 } }, 400, 'INVALID_REQUEST'],
  [`${SESSION}/runs`, { ...MESSAGE, [HOSTILE_KEY]: 1 }, 400, 'INVALID_REQUEST'],
  [`${SESSION}/runs`, { ...MESSAGE, temperature: 1 }, 400, 'INVALID_REQUEST'],
  [`${SESSION}/rewind`, { rewindBeforeInvocationId: 'e-1', steps: 1 }, 400, 'INVALID_REQUEST'],
  [`${SESSION}/fork`, { afterEventId: 'x', [HOSTILE_KEY]: 1 }, 400, 'INVALID_REQUEST'],
  [`${SESSION}/runs`, { ...MESSAGE, webhook: { url: `https://${'a.'.repeat(900)}example` } }, 403, 'FORBIDDEN'],
  ['/apps/app/users/ann/sessions', { events: [{ author: 'user', [HOSTILE_KEY]: DEEP }] }, 400, 'INVALID_EVENT'],
  [
    '/apps/app/users/ann/sessions',
    { events: [{ author: 'user', actions: { artifactDelta: { [HOSTILE_KEY]: 'x' } } }] },
    400,
    'INVALID_REQUEST',
  ],
])('POST %s with a key of 9,000 characters is refused in a few visible characters: case %#', async (...given) => {
  const [path, body, status, code] = given;
  const { send, stored } = await setUp();
  const before = await stored();
  const response = await send('POST', path, body);
  const answer = (await response.json()) as { readonly error: string; readonly code: string };
  expect([response.status, answer.code]).toEqual([status, code]);
  expect(answer.error.length).toBeLessThan(500);
  expect(answer.error).not.toMatch(/\p{Cf}/u);
  expect(await stored()).toEqual(before);
});

test.each(['wait', 'wait=', 'wait=0', 'wait=-5', 'wait=1.5', 'wait=soon', 'wait=1e3', 'wait=5, wait=6', 'WAIT=x'])(
  'POST …/runs with Prefer: %s is refused with a code, and changes nothing',
  async (prefer) => {
    const { send, stored } = await setUp();
    const before = await stored();
    const response = await send('POST', `${SESSION}/runs`, MESSAGE, { prefer });
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
    expect(await stored()).toEqual(before);
  },
);

test.each(['respond-async', 'return=minimal, wait=10', 'handling=lenient', ''])(
  'POST …/runs with Prefer: %s is accepted',
  async (prefer) => {
    const { send } = await setUp();
    expect((await send('POST', `${SESSION}/runs`, MESSAGE, { prefer })).status).toBe(202);
  },
);

const BAD_IDS = ['x', '-1', '1e3', '0x1', '1,2', '1.', '.5', '1.0000000001', '99999999', '1 2', 'NaN', 'null'];

test.each(BAD_IDS)('a run cannot be followed from the event id %s', async (id) => {
  const { send, runId } = await setUp();
  const run = `${SESSION}/runs/${runId}`;
  for (const answer of [
    await send('GET', run, undefined, { 'last-event-id': id }),
    await send('GET', `${run}?lastEventId=${encodeURIComponent(id)}`),
  ])
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
});

test('a run cannot be followed from an unknown event id or from two ids', async () => {
  const { send, runId } = await setUp();
  const run = `${SESSION}/runs/${runId}`;
  const beyond = await send('GET', run, undefined, { 'last-event-id': '50' });
  expect([beyond.status, await beyond.json()]).toMatchObject([404, { code: 'RUN_EVENT_NOT_FOUND' }]);
  const twice = await send('GET', `${run}?lastEventId=1&lastEventId=2`);
  expect([twice.status, await twice.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
});

test.each([
  ['application/json', true],
  ['Application/JSON', true],
  ['APPLICATION/JSON; charset=utf-8', true],
  ['text/html, application/json;q=0.9', true],
  ['application/jsonp', false],
  ['application/json-seq', false],
  ['application/json;q=0', false],
  ['text/event-stream', false],
  ['TEXT/Event-Stream, application/json', false],
  ['application/json;q=0.5, text/event-stream;q=0', true],
  ['*/*', false],
  ['', false],
  [', ;', false],
])('Accept: %s asks for the state of a run: %s', async (accept, isState) => {
  const { send, runId } = await setUp();
  const response = await send('GET', `${SESSION}/runs/${runId}`, undefined, { accept });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain(isState ? 'application/json' : 'text/event-stream');
  await response.text();
});

test('the error for an unknown app quotes the beginning of a long name', async () => {
  const { send } = await setUp();
  const answer = await send('POST', '/run', { ...RUN, appName: 'x'.repeat(40_000) });
  const { code, error } = (await answer.json()) as { code: string; error: string };
  expect([answer.status, code, error.length < 200]).toEqual([404, 'APP_NOT_FOUND', true]);
});
