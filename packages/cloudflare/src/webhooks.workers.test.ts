import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm } from 'cloudflare:test';
import { type DurableObjectStub, env } from 'cloudflare:workers';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { work } from './fixtures/protocol-runners.ts';
import { ask, post } from './fixtures/user-client.ts';

interface Message {
  readonly id: string | null;
  readonly signature: string | null;
  readonly body: unknown;
}

let user = '';
/** The messages that the receiver got, and the statuses of its next responses. */
let messages: Message[] = [];
let statuses: number[] = [];
const session = (): string => `/apps/shop/users/${user}/sessions/s`;
const objectOf = (): DurableObjectStub => env.EVENTLOOM_USERS.getByName(JSON.stringify(['shop', user]));

beforeEach(async () => {
  user = `user-${crypto.randomUUID()}`;
  messages = [];
  statuses = [];
  Object.assign(work, {
    passed: [],
    haltAt: undefined,
    isHalted: false,
    onUnfinishedRuns: 'resume',
    onHalt: () => undefined,
  });
  const { fetch } = globalThis;
  vi.stubGlobal('fetch', async (input: string | Request, init?: RequestInit) => {
    const request = new Request(input, init);
    if (!request.url.startsWith('https://hooks.example/')) return fetch(request);
    const { headers } = request;
    messages.push({
      id: headers.get('webhook-id'),
      signature: headers.get('webhook-signature'),
      body: await request.json(),
    });
    return new Response(null, { status: statuses.shift() ?? 200 });
  });
  await (await post(session(), {})).text();
});
afterEach(() => vi.unstubAllGlobals());

async function begin(): Promise<string> {
  const newMessage = { parts: [{ text: 'work' }] };
  const response = await post(`${session()}/runs`, { newMessage, webhook: { url: 'https://hooks.example/ends' } });
  expect(response.status).toBe(202);
  return ((await response.json()) as { invocationId: string }).invocationId;
}

const received = (count: number): Promise<unknown> => expect.poll(() => messages.length).toBeGreaterThanOrEqual(count);

const messageFor = (invocationId: string, id: unknown = expect.stringMatching(/^msg_/)) => ({
  id,
  signature: expect.stringMatching(/^v1,/),
  body: {
    type: 'run.completed',
    timestamp: expect.any(String),
    data: {
      appName: 'shop',
      userId: user,
      sessionId: 's',
      invocationId,
      state: 'completed',
      output: expect.any(String),
    },
  },
});

test('the object of a run sends its webhook', async () => {
  const invocationId = await begin();
  await received(1);
  expect(messages).toEqual([messageFor(invocationId)]);
});

test('the webhook of a run whose object died is sent by the object that continues it at the alarm', async () => {
  Object.assign(work, { haltAt: 'work' });
  const invocationId = await begin();
  await expect.poll(() => work.isHalted).toBe(true);
  await abortAllDurableObjects();
  Object.assign(work, { haltAt: undefined });
  expect(await runDurableObjectAlarm(objectOf())).toBe(true);
  await received(1);
  expect(messages).toEqual([messageFor(invocationId)]);
});

test('a webhook that was refused is sent again at an alarm of the next object with the same id', async () => {
  statuses = [503];
  const invocationId = await begin();
  await received(1);
  // The object has answered everything that was asked of it.
  await (await ask(session())).text();
  await evictDurableObject(objectOf());
  vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);
  expect(await runDurableObjectAlarm(objectOf())).toBe(true);
  await received(2);
  vi.restoreAllMocks();
  expect(messages[1]).toEqual(messageFor(invocationId, messages[0]?.id));
});
