import { createHmac } from 'node:crypto';
import { createServer as createHttpServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigurationError, StorageError } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, type ScriptedStep } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { afterEach, expect, test, vi } from 'vitest';
import { createServer } from '../create-server.ts';
import { WebhookError } from '../errors.ts';
import type { ServerOptions } from '../server-options.ts';
import { setUp as leftRuns } from './fixtures/left-runs.ts';
import { KEY as sessionKey, serverScenario, SESSION } from '../fixtures/server-scenario.ts';

const KEY = Buffer.alloc(32, 7);
const SECRET = `whsec_${KEY.toString('base64')}`;

interface Message {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server that receives messages. */
interface Receiver {
  readonly origin: string;
  readonly messages: readonly Message[];
  /** Resolves when this many messages have arrived. */
  received(count: number): Promise<void>;
  close(): void;
}

const receivers: Receiver[] = [];
afterEach(() => receivers.splice(0).forEach((receiver) => receiver.close()));

/** @param answer answers one message; the index of messages starts at 0 */
async function startReceiver(answer: (response: ServerResponse, index: number) => void): Promise<Receiver> {
  const messages: Message[] = [];
  const http = createHttpServer((request, response) => {
    let body = '';
    request.on('data', (data) => (body += String(data)));
    request.on('end', () => {
      messages.push({ headers: request.headers, body });
      answer(response, messages.length - 1);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    messages,
    received: (count) => expect.poll(() => messages.length).toBeGreaterThanOrEqual(count),
    close: () => {
      http.closeAllConnections();
      http.close();
    },
  };
  receivers.push(receiver);
  return receiver;
}

const withStatus =
  (...statuses: readonly number[]) =>
  (response: ServerResponse, index: number): void =>
    void response.writeHead(statuses[index] ?? 200).end('much'.repeat(10_000));

async function setUp(
  steps: readonly ScriptedStep[],
  origins: readonly string[] | undefined,
  sessionService = new InMemorySessionService(),
  platform = fixedPlatform(),
) {
  const order = new LongRunningFunctionTool({ name: 'order', description: 'Orders.', execute: () => undefined });
  const errors: unknown[] = [];
  const { server, send } = await serverScenario({
    steps,
    agent: { tools: [order] },
    sessionService,
    platform,
    onError: (error) => errors.push(error),
    ...(origins && { webhooks: { secret: SECRET, origins } }),
  });
  const begin = (webhook: unknown, requestId?: string): Promise<Response> =>
    send('POST', `${SESSION}/runs`, { newMessage: { parts: [{ text: 'hi' }] }, webhook, requestId });
  return { begin, send, server, sessionService, platform, errors };
}

const pendingOf = (service: InMemorySessionService) =>
  Promise.resolve(service.listRunWebhooks({ appName: 'app', includeOpen: true }));

/** Waits until an attempt has failed: an active one is claimed for 20 seconds. Returns the time until the next one, in milliseconds. */
async function hasFailed({ sessionService, platform }: Awaited<ReturnType<typeof setUp>>): Promise<number> {
  const waitMs = async (): Promise<number> => ((await pendingOf(sessionService))[0]?.dueMs ?? 0) - platform.now();
  await expect.poll(waitMs).not.toBe(20_000);
  return waitMs();
}

/** Shuts a server down and advances its clock, which otherwise stands still. */
async function endOf({ server, platform }: Awaited<ReturnType<typeof setUp>>): Promise<void> {
  let isDrained = false;
  const drained = server.drain(0).then(() => (isDrained = true));
  await expect.poll(() => platform.advance(1) === undefined && isDrained).toBe(true);
  await drained;
}

test('the end of a run is sent as a webhook signed per Standard Webhooks', async () => {
  const receiver = await startReceiver(withStatus());
  const { begin } = await setUp(['done'], [receiver.origin]);
  const begun = await begin({ url: `${receiver.origin}/ends?of=runs` });
  expect(begun.status).toBe(202);
  const { invocationId } = (await begun.json()) as { invocationId: string };
  await receiver.received(1);
  const [{ headers, body } = { headers: {}, body: '' }] = receiver.messages;
  expect(JSON.parse(body)).toEqual({
    type: 'run.completed',
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    data: { ...sessionKey, invocationId, state: 'completed', output: 'done' },
  });
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', KEY).update(signed).digest('base64')}`);
  expect(headers['webhook-id']).toMatch(/^msg_/);
});

test('the URL of a webhook is stored with its control characters escaped', async () => {
  const receiver = await startReceiver(withStatus(500));
  const { begin, sessionService } = await setUp(['done'], [receiver.origin]);
  expect((await begin({ url: `${receiver.origin}/a\0b\n` })).status).toBe(202);
  expect(await pendingOf(sessionService)).toMatchObject([{ url: `${receiver.origin}/a%00b` }]);
});

test('the webhook of a failed run has its code, and that of a waiting run its calls', async () => {
  const receiver = await startReceiver(withStatus());
  const steps = [{ error: new TypeError('no') }, { calls: [{ name: 'order' }] }];
  const { begin } = await setUp(steps, [receiver.origin]);
  await begin({ url: receiver.origin });
  await receiver.received(1);
  await begin({ url: receiver.origin });
  await receiver.received(2);
  const [failed, waiting] = receiver.messages.map(({ body }) => JSON.parse(body) as { type: string; data: object });
  expect(failed).toMatchObject({ type: 'run.failed', data: { code: expect.any(String) } });
  expect(waiting).toMatchObject({ type: 'run.waiting', data: { waitingFor: [expect.any(String)] } });
});

test('a refused webhook is sent again with growing delays and the same id', async () => {
  const receiver = await startReceiver(withStatus(500, 404, 204));
  const { begin, platform, errors } = await setUp(['done'], [receiver.origin]);
  await begin({ url: receiver.origin });
  await receiver.received(1);
  await expect.poll(() => platform.advance(7_500) === undefined && receiver.messages.length === 2).toBe(true);
  await expect.poll(() => platform.advance(15_000) === undefined && receiver.messages.length === 3).toBe(true);
  expect(new Set(receiver.messages.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(new Set(receiver.messages.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(3);
  expect(errors).toEqual([]);
});

test('a webhook whose run has another state at the next attempt is sent with another id', async () => {
  const receiver = await startReceiver(withStatus(500, 500, 500, 500, 500));
  const calls = ['c-1', 'c-2'].map((id) => ({ name: 'order', id }));
  const served = await setUp([{ calls }, 'one is left', 'done'], [receiver.origin]);
  const { begin, server, platform } = served;
  await begin({ url: receiver.origin });
  for (const [index, id] of [undefined, 'c-1', 'c-2'].entries()) {
    const parts = [{ functionResponse: { id, name: 'order', response: { ok: true } } }];
    const body = JSON.stringify({ ...sessionKey, newMessage: { parts } });
    if (id) await (await server.fetch(new Request('http://localhost/run', { method: 'POST', body }))).text();
    if (id) platform.advance(await hasFailed(served));
    await receiver.received(2 * index + 1);
    platform.advance(await hasFailed(served));
    await receiver.received(2 * index + 2);
  }
  const messages = receiver.messages.map(({ headers, body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { waitingFor?: string[] } };
    return { id: String(headers['webhook-id']), type, waitingFor: data.waitingFor };
  });
  const [first, second, third] = [messages[0]?.id, messages[2]?.id, messages[4]?.id];
  expect(messages).toEqual([
    ...[first, first].map((id) => ({ id, type: 'run.waiting', waitingFor: ['c-1', 'c-2'] })),
    ...[second, second].map((id) => ({ id, type: 'run.waiting', waitingFor: ['c-2'] })),
    ...[third, third].map((id) => ({ id, type: 'run.completed', waitingFor: undefined })),
  ]);
  expect(new Set([first, second, third]).size).toBe(3);
});

test('a webhook is given up after six attempts and reported', async () => {
  const receiver = await startReceiver(withStatus(...Array.from({ length: 20 }, () => 503)));
  const served = await setUp(['done'], [receiver.origin]);
  const { begin, platform, errors } = served;
  await begin({ url: `${receiver.origin}/secret-path` });
  for (let sent = 1; sent < 6; sent++) {
    await receiver.received(sent);
    platform.advance(await hasFailed(served));
  }
  await expect.poll(() => errors.length).toBe(1);
  expect(receiver.messages).toHaveLength(6);
  expect(errors).toEqual([expect.any(WebhookError)]);
  expect(String(errors[0])).toContain(`${receiver.origin}: it answered 503`);
});

test('a webhook answered with 410 is not sent again', async () => {
  const receiver = await startReceiver(withStatus(410));
  const { begin, platform, errors } = await setUp(['one', 'two', 'three'], [receiver.origin]);
  // Two more messages, the second one due after a further attempt would be: an attempt for the first would have been
  // made by then.
  for (const count of [1, 2, 3]) {
    await begin({ url: receiver.origin });
    await receiver.received(count);
    if (count === 2) platform.advance(7_500);
  }
  expect(new Set(receiver.messages.map(({ headers }) => headers['webhook-id'])).size).toBe(receiver.messages.length);
  expect([receiver.messages.length, errors.length]).toEqual([3, 0]);
});

test('a redirect is not followed', async () => {
  const inner = await startReceiver(withStatus());
  const receiver = await startReceiver((response, index) => {
    response.writeHead(index === 0 ? 307 : 200, { location: inner.origin }).end();
  });
  const { begin, platform } = await setUp(['done'], [receiver.origin]);
  await begin({ url: receiver.origin });
  await expect.poll(() => platform.advance(1_000) === undefined && receiver.messages.length === 2).toBe(true);
  expect(inner.messages).toEqual([]);
});

test('a webhook that one process could not deliver is delivered by the next with the same id', async () => {
  const receiver = await startReceiver(withStatus(500));
  const first = await setUp(['done'], [receiver.origin]);
  await first.begin({ url: receiver.origin });
  await receiver.received(1);
  await expect.poll(async () => (await pendingOf(first.sessionService))[0]?.dueMs).not.toBe(undefined);
  await endOf(first);
  const second = await setUp([], [receiver.origin], first.sessionService, first.platform);
  await expect.poll(() => second.platform.advance(7_500) === undefined && receiver.messages.length === 2).toBe(true);
  expect(new Set(receiver.messages.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  await expect.poll(async () => (await pendingOf(first.sessionService)).length).toBe(0);
});

test('an attempt whose process died before its answer is repeated', async () => {
  const hanging = Promise.withResolvers<ServerResponse>();
  const receiver = await startReceiver((response, index) => (index === 0 ? hanging.resolve(response) : response.end()));
  const first = await setUp(['done'], [receiver.origin]);
  await first.begin({ url: receiver.origin });
  await hanging.promise;
  const later = fixedPlatform();
  later.advance(first.platform.now() - later.now() + 20_000);
  await setUp([], [receiver.origin], first.sessionService, later);
  await receiver.received(2);
  expect(new Set(receiver.messages.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

test('an attempt that is due only because the clock was ahead is made at once after the clock was set back', async () => {
  const receiver = await startReceiver(withStatus(500));
  const ahead = fixedPlatform();
  ahead.advance(3_600_000);
  const first = await setUp(['done'], [receiver.origin], undefined, ahead);
  await first.begin({ url: receiver.origin });
  await receiver.received(1);
  await hasFailed(first);
  await endOf(first);
  await setUp([], [receiver.origin], first.sessionService, fixedPlatform());
  await receiver.received(2);
  expect(new Set(receiver.messages.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

test.each<[string, Partial<ServerOptions>, string]>([
  ['resumes', {}, 'run.completed'],
  ['closes', { onUnfinishedRuns: 'close' }, 'run.interrupted'],
])(
  'the process that %s the run of a lost process sends its webhook without waiting for a search',
  async (_, options, type) => {
    const receiver = await startReceiver(withStatus());
    const { leave, serve, sessions } = leftRuns();
    const { sessionId, invocationId } = await leave('s');
    const key = { appName: 'app', userId: 'ann', sessionId };
    await sessions.putRunWebhook({ ...key, invocationId, id: 'msg_1', url: `${receiver.origin}/ends` });
    const server = serve(['done'], { ...options, webhooks: { secret: SECRET, origins: [receiver.origin] } });
    await receiver.received(1);
    expect(receiver.messages.map(({ body }) => JSON.parse(body))).toMatchObject([
      { type, data: { ...key, invocationId } },
    ]);
    await server.drain(0);
  },
);

test('one of several processes makes each attempt', async () => {
  const receiver = await startReceiver(withStatus(500, 500, 200));
  const first = await setUp(['done'], [receiver.origin]);
  const others = await Promise.all(
    [1, 2, 3].map(() => setUp([], [receiver.origin], first.sessionService, first.platform)),
  );
  await first.begin({ url: receiver.origin });
  await receiver.received(1);
  const pending = async () => {
    first.platform.advance(2_500);
    return pendingOf(first.sessionService);
  };
  await expect.poll(pending).toEqual([]);
  expect(receiver.messages).toHaveLength(3);
  expect([first, ...others].flatMap(({ errors }) => errors)).toEqual([]);
});

test('a run begins with its webhook, in one call of the store', async () => {
  const gate = new Gate();
  const sessionService = new InMemorySessionService();
  const begin = vi.spyOn(sessionService, 'beginRun');
  const put = vi.spyOn(sessionService, 'putRunWebhook');
  const { begin: send } = await setUp([{ gate, text: 'done' }], ['https://hooks.example'], sessionService);
  const url = 'https://hooks.example/ends';
  expect((await send({ url })).status).toBe(202);
  expect(begin).toHaveBeenCalledWith(expect.objectContaining({ webhook: { id: expect.stringMatching(/^msg_/), url } }));
  expect(put).not.toHaveBeenCalled();
  expect(await pendingOf(sessionService)).toMatchObject([{ ...sessionKey, url }]);
  gate.open();
});

test('an answer that is refused does not leave a webhook of the run to continue', async () => {
  const sessionService = new InMemorySessionService();
  const { server } = await setUp(
    [{ calls: [{ name: 'order', id: 'c-1' }] }],
    ['https://hooks.example'],
    sessionService,
  );
  const send = async (body: object): Promise<Response> =>
    server.fetch(new Request(`http://localhost${SESSION}/runs`, { method: 'POST', body: JSON.stringify(body) }));
  const asked = await send({ newMessage: { parts: [{ text: 'hi' }] } });
  await (await server.fetch(new Request(`http://localhost${asked.headers.get('location')}`))).text();
  const parts = [{ functionResponse: { id: 'c-2', name: 'order', response: {} } }];
  const { invocationId } = (await asked.json()) as { invocationId: string };
  const webhook = { url: 'https://hooks.example/ends' };
  for (const body of [
    { newMessage: { parts }, webhook },
    { newMessage: { parts }, invocationId, webhook },
  ]) {
    const refused = await send(body);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.status).toBeLessThan(500);
  }
  expect(await pendingOf(sessionService)).toEqual([]);
});

test('a repeated request causes one webhook', async () => {
  const gate = new Gate();
  const receiver = await startReceiver(withStatus());
  const { begin, sessionService, platform } = await setUp([{ gate, text: 'done' }], [receiver.origin]);
  const runs = [await begin({ url: receiver.origin }, 'r-1'), await begin({ url: receiver.origin }, 'r-1')];
  const ids = await Promise.all(runs.map(async (run) => ((await run.json()) as { invocationId: string }).invocationId));
  expect(ids[0]).toBe(ids[1]);
  gate.open();
  await receiver.received(1);
  await expect.poll(async () => (await pendingOf(sessionService)).length).toBe(0);
  const again = await begin({ url: receiver.origin }, 'r-1');
  expect([again.status, await again.json()]).toEqual([
    202,
    { invocationId: ids[0], state: 'completed', output: 'done' },
  ]);
  platform.advance(15_000);
  await expect.poll(async () => (await pendingOf(sessionService)).length).toBe(0);
  expect(receiver.messages).toHaveLength(1);
});

test('a webhook to an origin that is no longer listed is not sent', async () => {
  const receiver = await startReceiver(withStatus(500));
  const first = await setUp(['done'], [receiver.origin]);
  await first.begin({ url: receiver.origin });
  await receiver.received(1);
  await expect.poll(async () => (await pendingOf(first.sessionService))[0]?.dueMs).not.toBe(undefined);
  await endOf(first);
  const second = await setUp([], ['https://hooks.example'], first.sessionService, first.platform);
  await expect.poll(() => second.platform.advance(5_000) === undefined && second.errors.length > 0).toBe(true);
  expect(String(second.errors[0])).toContain('no longer in webhooks.origins');
  expect(receiver.messages).toHaveLength(1);
});

test('the time limit of an attempt is no idle timer, which a Durable Object runs early', async () => {
  const answered = Promise.withResolvers<ServerResponse>();
  const receiver = await startReceiver((response) => answered.resolve(response));
  const platform = fixedPlatform();
  const schedule = vi.spyOn(platform, 'schedule');
  const { begin } = await setUp(['done'], [receiver.origin], undefined, platform);
  await begin({ url: receiver.origin });
  const response = await answered.promise;
  expect(schedule.mock.calls.filter(([delayMs]) => delayMs === 10_000).map(([, , options]) => options?.idle)).toEqual([
    undefined,
  ]);
  response.end();
});

test('shutdown waits for a webhook in flight', async () => {
  const gate = new Gate();
  const answered = Promise.withResolvers<ServerResponse>();
  const receiver = await startReceiver((response) => answered.resolve(response));
  const { begin, server, platform } = await setUp([{ gate, text: 'done' }], [receiver.origin]);
  await begin({ url: receiver.origin });
  let isDrained = false;
  const drained = server.drain(5_000).then(() => (isDrained = true));
  gate.open();
  let isSent = false;
  void answered.promise.then(() => (isSent = true));
  await expect.poll(() => platform.advance(1) === undefined && isSent).toBe(true);
  expect(isDrained).toBe(false);
  (await answered.promise).end();
  await expect.poll(() => platform.advance(1) === undefined && isDrained).toBe(true);
  await drained;
});

test.each([
  ['text', 400],
  [{}, 400],
  [{ url: 5 }, 400],
  [{ url: 'no url' }, 400],
  [{ url: `https://hooks.example/${'x'.repeat(3000)}` }, 400],
  [{ url: 'https://hooks.example/', method: 'GET' }, 400],
  [{ url: 'https://ann:secret@hooks.example/' }, 400],
  [{ url: 'http://hooks.example/' }, 403],
  [{ url: 'https://hooks.example:8443/' }, 403],
  [{ url: 'https://hooks.example.attacker.example/' }, 403],
  [{ url: 'http://169.254.169.254/latest/meta-data' }, 403],
  [{ url: 'http://[::ffff:127.0.0.1]/' }, 403],
  [{ url: 'file:///etc/passwd' }, 400],
  [{ url: 'javascript:fetch()' }, 400],
])('the webhook %j is refused with a code, and nothing is changed', async (webhook, status) => {
  const { begin, sessionService } = await setUp(['done'], ['https://hooks.example']);
  const before = await sessionService.getSession(sessionKey);
  const response = await begin(webhook);
  expect([response.status, await response.json()]).toEqual([
    status,
    { error: expect.stringMatching(/^webhook/), code: expect.stringMatching(/^[A-Z_]+$/) },
  ]);
  expect(await sessionService.getSession(sessionKey)).toEqual(before);
});

test('a server without webhooks refuses a request with one', async () => {
  const { begin } = await setUp(['done'], undefined);
  const response = await begin({ url: 'https://hooks.example/' });
  expect([response.status, await response.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
});

test('the number of undelivered webhooks per user is limited', async () => {
  const receiver = await startReceiver(() => undefined);
  const { begin } = await setUp(
    Array.from({ length: 60 }, () => 'done'),
    [receiver.origin],
  );
  const statuses: number[] = [];
  for (let run = 0; run < 50; run++) statuses.push((await begin({ url: receiver.origin })).status);
  expect(statuses).toEqual(Array.from({ length: 50 }, () => 202));
  const refused = await begin({ url: receiver.origin });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
});

test('a request with a webhook waits if the storage cannot be used for a moment', async () => {
  const { begin, sessionService, platform } = await setUp(['done'], ['https://hooks.example']);
  const list = sessionService.listRunWebhooks.bind(sessionService);
  let refused = 0;
  sessionService.listRunWebhooks = (request) => {
    if (request.userId === undefined || refused++ > 0) return list(request);
    throw StorageError.of('the storage', new Error('connection lost'));
  };
  let status = 0;
  void begin({ url: 'https://hooks.example' }).then((response) => (status = response.status));
  await expect.poll(() => platform.advance(10) === undefined && status).toBe(202);
  expect(refused).toBeGreaterThan(1);
});

test.each([
  [{ secret: 'short', origins: ['https://a.example'] }, /webhooks\.secret/],
  [{ secret: 'whsec_c2hvcnQ=', origins: ['https://a.example'] }, /webhooks\.secret/],
  [{ secret: SECRET, origins: [] }, /webhooks\.origins/],
  [{ secret: SECRET, origins: ['https://a.example/path'] }, /is not an origin; write "https:\/\/a\.example"$/],
  [{ secret: SECRET, origins: ['https://A.example:443'] }, /is not an origin; write "https:\/\/a\.example"$/],
  [{ secret: SECRET, origins: ['*'] }, /is not an origin; write it like https:\/\/hooks\.example$/],
])('the options %j are refused', (webhooks, message) => {
  const create = () => createServer({ runners: [], webhooks });
  expect(create).toThrow(ConfigurationError);
  expect(create).toThrow(message);
});

/** Begins a run of a user, with a webhook to this receiver. */
async function beginAs(
  { server, sessionService }: Awaited<ReturnType<typeof setUp>>,
  userId: string,
  { origin }: Receiver,
) {
  await sessionService.getOrCreateSession({ ...sessionKey, userId });
  const body = JSON.stringify({ newMessage: { parts: [{ text: 'hi' }] }, webhook: { url: origin } });
  const path = SESSION.replace('ann', userId);
  const begun = await server.fetch(new Request(`http://localhost${path}/runs`, { method: 'POST', body }));
  expect(begun.status).toBe(202);
}

test('webhooks that are never answered do not delay those of other users to the same receiver', async () => {
  const hanging = await startReceiver(() => undefined);
  const slow = Array.from({ length: 12 }, (_, index) => `slow-${index}`);
  const ofEach = 7;
  const played = await setUp(Array<string>(slow.length * ofEach + 1).fill('done'), [hanging.origin]);
  const { server, sessionService } = played;
  const begin = (userId: string) => beginAs(played, userId, hanging);
  for (let run = 0; run < ofEach; run++) for (const userId of slow) await begin(userId);
  await server.whenIdle();
  await expect
    .poll(async () => (await pendingOf(sessionService)).filter(({ attempts }) => attempts > 0))
    .toHaveLength(60);
  await begin('fast');
  await hanging.received(61);
  hanging.close();
  await endOf(played);
});

test('a receiver that never answers leaves room for other receivers', async () => {
  const hanging = await startReceiver(() => undefined);
  const receiver = await startReceiver(withStatus());
  const users = Array.from({ length: 70 }, (_, index) => `user-${index}`);
  const played = await setUp(Array<string>(users.length).fill('done'), [hanging.origin, receiver.origin]);
  for (const userId of users) await beginAs(played, userId, userId === 'user-69' ? receiver : hanging);
  await receiver.received(1);
  hanging.close();
  await endOf(played);
});

test('the webhook of a run that ends is sent although more messages than are listed wait before it', async () => {
  const hanging = await startReceiver(() => undefined);
  const receiver = await startReceiver(withStatus());
  const slow = Array.from({ length: 23 }, (_, index) => `slow-${index}`);
  const played = await setUp(Array<string>(slow.length + 1).fill('done'), [hanging.origin, receiver.origin]);
  const { server, sessionService } = played;
  const begin = async (userId: string, webhook?: object) => {
    await sessionService.getOrCreateSession({ ...sessionKey, userId });
    const body = JSON.stringify({ newMessage: { parts: [{ text: 'hi' }] }, webhook });
    const path = SESSION.replace('ann', userId);
    const begun = await server.fetch(new Request(`http://localhost${path}/runs`, { method: 'POST', body }));
    return ((await begun.json()) as { readonly invocationId: string }).invocationId;
  };
  for (const userId of slow) {
    const invocationId = await begin(userId);
    for (let of = 0; of < 50; of++)
      await sessionService.putRunWebhook({
        ...sessionKey,
        userId,
        invocationId,
        id: `a-${userId}-${of}`,
        url: `${hanging.origin}/${of}`,
      });
  }
  await server.whenIdle();
  await begin('fast', { url: receiver.origin });
  await receiver.received(1);
  hanging.close();
  await endOf(played);
});

test('a session that is deleted during a run sends the webhook of the run', async () => {
  const receiver = await startReceiver(withStatus());
  const gate = new Gate();
  const served = await setUp([{ gate, text: 'never' }], [receiver.origin]);
  const { invocationId } = (await (await served.begin({ url: `${receiver.origin}/ends` })).json()) as {
    invocationId: string;
  };
  await gate.reached;
  const deleted = await served.server.fetch(new Request(`http://localhost${SESSION}`, { method: 'DELETE' }));
  expect(deleted.status).toBe(200);
  await receiver.received(1);
  expect(JSON.parse(receiver.messages[0]?.body ?? '')).toMatchObject({
    type: 'run.interrupted',
    data: { ...sessionKey, invocationId, code: 'RUN_ABORTED', error: 'the session was deleted' },
  });
  await endOf(served);
  expect(receiver.messages).toHaveLength(1);
  expect(served.errors).toEqual([]);
});

test('no run with a webhook begins in another process while its session is deleted', async () => {
  const receiver = await startReceiver(withStatus());
  const store = new InMemorySessionService();
  const first = await setUp([], [receiver.origin], store);
  const second = await setUp(['done'], [receiver.origin], store);
  const [deleteSession, beginRun] = [store.deleteSession.bind(store), store.beginRun.bind(store)];
  const asked = Promise.withResolvers<void>();
  store.beginRun = (request) => {
    const begun = beginRun(request);
    asked.resolve();
    return begun;
  };
  let begun: Promise<Response> | undefined;
  store.deleteSession = async (key) => {
    begun = second.begin({ url: `${receiver.origin}/ends` });
    await asked.promise;
    return deleteSession(key);
  };
  expect((await first.send('DELETE', SESSION)).status).toBe(200);
  expect((await begun)?.status).toBe(404);
});

test('a session that cannot be deleted sends no webhook that says so', async () => {
  const receiver = await startReceiver(withStatus(500));
  const store = new InMemorySessionService();
  store.deleteSession = () => {
    throw new StorageError('the session storage is not available', { retryable: true });
  };
  const served = await setUp(['done'], [receiver.origin], store);
  await served.begin({ url: `${receiver.origin}/ends` });
  await receiver.received(1);
  await hasFailed(served);
  const refused = await served.server.fetch(new Request(`http://localhost${SESSION}`, { method: 'DELETE' }));
  expect(refused.status).toBe(503);
  await endOf(served);
  expect(receiver.messages).toHaveLength(1);
  expect(await pendingOf(store)).toHaveLength(1);
});

test.each([
  ['is sent once more', 200, []],
  ['is reported if the last attempt fails too', 500, [expect.any(WebhookError)]],
])('a message whose session is deleted during an attempt that fails %s', async (_title, lastStatus, reported) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const answer = withStatus(500, lastStatus);
  const receiver = await startReceiver((response, index) => void promise.then(() => answer(response, index)));
  const served = await setUp(['done'], [receiver.origin]);
  await served.begin({ url: `${receiver.origin}/ends` });
  await receiver.received(1);
  await served.server.fetch(new Request(`http://localhost${SESSION}`, { method: 'DELETE' }));
  resolve();
  await receiver.received(2);
  expect(receiver.messages[1]?.headers['webhook-id']).toBe(receiver.messages[0]?.headers['webhook-id']);
  await endOf(served);
  expect(receiver.messages).toHaveLength(2);
  expect(served.errors).toEqual(reported);
});

test('the outcome of a run is sent when its session is deleted, if its webhook was not delivered before', async () => {
  const receiver = await startReceiver(withStatus(500));
  const served = await setUp(['done'], [receiver.origin]);
  await served.begin({ url: `${receiver.origin}/ends` });
  await receiver.received(1);
  await hasFailed(served);
  await served.server.fetch(new Request(`http://localhost${SESSION}`, { method: 'DELETE' }));
  await receiver.received(2);
  expect(JSON.parse(receiver.messages[1]?.body ?? '')).toMatchObject({ type: 'run.completed' });
  await endOf(served);
});
