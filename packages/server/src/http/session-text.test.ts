import {
  createEvent,
  type GetSessionConfig,
  type GetSessionRequest,
  type MaybePromise,
  type Session,
  SessionNotFoundError,
  systemPlatform,
} from '@eventloom/core';
import { WorkQueue } from '@eventloom/core/internal';
import { InMemorySessionService } from '@eventloom/sessions';
import { expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../server-limits.ts';
import { LargeResponses } from './large-responses.ts';
import { readSessionText, sessionParts } from './session-text.ts';
import { UserQuotas } from './user-quotas.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const reported: unknown[] = [];
const responses = new LargeResponses({
  quotas: new UserQuotas(DEFAULT_LIMITS),
  heartbeatMs: 15_000,
  platform: systemPlatform,
  queue: new WorkQueue(systemPlatform),
  report: (error) => reported.push(error),
});
const respond = (service: NotingService, config?: GetSessionConfig): Promise<Response> =>
  responses.respond('ann', () => readSessionText(service, KEY, config));

/** Sessions in memory, and the sizes of the events of each read. */
class NotingService extends InMemorySessionService {
  reads: number[][] = [];

  override getSession(request: GetSessionRequest): MaybePromise<Session | undefined> {
    const found = super.getSession(request) as Session | undefined;
    this.reads.push(found?.events.map((event) => JSON.stringify(event).length) ?? []);
    return found;
  }

  /** The number of events of each read. */
  get counts(): number[] {
    return this.reads.map(({ length }) => length);
  }

  /** The text of the session in one piece. */
  async whole(config?: GetSessionConfig): Promise<string> {
    const session = await super.getSession({ ...KEY, config });
    return session ? [...sessionParts(session)].join('') : '';
  }
}

/** Returns the session with this number of events of this text. */
async function subject(events: number, textOf: (index: number) => string = () => 'x', service = new NotingService()) {
  const session = await service.createSession({ ...KEY, state: { own: 1 } });
  for (let index = 1; index <= events; index++) {
    const content = { role: 'model', parts: [{ text: textOf(index) }] };
    const event = createEvent({ id: String(index), author: 'a', timestamp: index, content });
    await service.appendEvent({ session, event });
  }
  return service;
}

const WINDOWS: readonly GetSessionConfig[] = [
  {},
  { numRecentEvents: 0 },
  { numRecentEvents: 100 },
  { numRecentEvents: 101 },
  { numRecentEvents: 5000 },
  { afterTimestamp: 1 },
  { afterTimestamp: 2.5 },
  { afterTimestamp: 9999 },
  { afterTimestamp: 50, numRecentEvents: 150 },
];

test.each([0, 1, 99, 100, 101, 250, 2300])(
  'a streamed session of %i events has the same text as a session in one piece',
  async (events) => {
    const service = await subject(events);
    for (const config of WINDOWS) {
      const response = await respond(service, config);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect((await response.text()) === (await service.whole(config))).toBe(true);
    }
  },
);

test('at most one page of events is read at a time', async () => {
  const long = await subject(3000);
  await (await respond(long)).text();
  expect(Math.max(...long.counts)).toBe(1000);
  const heavy = await subject(300, () => 'x'.repeat(100_000));
  await (await respond(heavy)).text();
  expect(heavy.counts.slice(0, 2)).toEqual([100, 100]);
  expect(Math.max(...heavy.counts.slice(2))).toBeLessThan(12);
});

/** A service that knows the sizes of events. */
class SizingService extends NotingService {
  override countWithin({ config = {}, ...key }: GetSessionRequest, maxBytes: number): number {
    const { events } = super.getSession({ ...key, config }) as Session;
    const sizes = this.reads.pop() ?? [];
    if (config.numRecentEvents !== undefined) sizes.reverse();
    let chars = 0;
    const over = sizes.findIndex((size) => (chars += size) > maxBytes);
    return Math.max(1, over < 0 ? events.length : over);
  }
}

test.each([{}, { numRecentEvents: 8 }, { afterTimestamp: 3, numRecentEvents: 8 }, { afterTimestamp: 3 }])(
  'with known sizes at most one page of characters or one event is read at a time: %j',
  async (config) => {
    const textOf = (index: number): string => 'x'.repeat(index % 3 === 0 ? 1_500_000 : 400_000);
    const service = await subject(12, textOf, new SizingService());
    expect((await (await respond(service, config)).text()) === (await service.whole(config))).toBe(true);
    const sums = service.reads
      .filter(({ length }) => length > 1)
      .map((sizes) => sizes.reduce((sum, size) => sum + size));
    expect(Math.max(0, ...sums)).toBeLessThanOrEqual(1024 * 1024);
    expect(service.reads.length).toBeGreaterThan(4);
  },
);

test('events are read only as the client reads', async () => {
  const service = await subject(3000);
  const response = await respond(service);
  expect(service.counts).toEqual([100]);
  await response.body?.cancel();
  expect(service.counts).toEqual([100]);
});

test('events appended during the read are not included', async () => {
  const service = await subject(300);
  const whole = await service.whole();
  const response = await respond(service);
  const session = await service.getSession(KEY);
  if (!session) return expect.unreachable();
  await service.appendEvent({ session, event: createEvent({ id: 'late', author: 'a', timestamp: 1 }) });
  expect((await response.text()) === whole).toBe(true);
});

test('the stream of a session deleted and created again ends with an error', async () => {
  const service = await subject(300);
  const response = await respond(service);
  await service.deleteSession(KEY);
  await service.createSession(KEY);
  await expect(response.text()).rejects.toThrow('session "s" was deleted while it was read');
  expect(reported.splice(0)).toEqual([expect.any(SessionNotFoundError)]);
});

test('a session that does not exist is refused', async () => {
  await expect(respond(new NotingService())).rejects.toThrow(
    new SessionNotFoundError(
      'session "s" of user "ann" in app "app" does not exist; create it first with POST /apps/app/users/ann/sessions/s, or session.create() of @eventloom/client',
    ),
  );
});

/** A service that reads events without the state. */
class StatelessService extends NotingService {
  withState = 0;
  override getSession(request: GetSessionRequest): MaybePromise<Session | undefined> {
    this.withState++;
    return super.getSession(request);
  }
  override getWithoutState(request: GetSessionRequest): Session | undefined {
    const session = super.getSession(request) as Session | undefined;
    return session && { ...session, state: {} };
  }
}

test('the state of a streamed session is read once', async () => {
  const service = new StatelessService();
  await subject(300, undefined, service);
  expect((await (await respond(service)).text()) === (await service.whole())).toBe(true);
  await (await respond(service, { afterTimestamp: 2, numRecentEvents: 150 })).text();
  expect(service.withState).toBe(2);
});

test.each([
  ['many pages', 2000, 5000],
  ['large events', 40, 100_000],
])('other work runs while a session of %s is written', async (_what, events, chars) => {
  const service = await subject(events, () => 'x'.repeat(chars));
  let turns = 0;
  let isRead = false;
  const reading = respond(service).then((response) => response.text().finally(() => (isRead = true)));
  while (!isRead) {
    turns++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await reading).length).toBeGreaterThan(events * chars);
  expect(turns).toBeGreaterThan(5);
});

test('a session with much state is streamed value by value with the same text', async () => {
  const service = new NotingService();
  const state = { small: 1, large: 'x'.repeat(2_000_000), 'user:last': ['é'.repeat(900_000), null] };
  const session = await service.createSession({ ...KEY, state });
  await service.appendEvent({ session, event: createEvent({ author: 'a', timestamp: 1 }) });
  const response = await respond(service);
  const chunks: number[] = [];
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk.length);
    text += decoder.decode(chunk, { stream: true });
  }
  expect(text === (await service.whole())).toBe(true);
  expect(JSON.parse(text)).toMatchObject({ id: 's', state, events: [{ author: 'a' }] });
  expect([chunks.length, Math.max(...chunks) < 2_000_100]).toEqual([3, true]);
});
