import {
  createEvent,
  type GetSessionConfig,
  type Session,
  SessionNotFoundError,
  systemPlatform,
} from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../server-limits.ts';
import { WorkQueue } from './in-turns.ts';
import { LargeAnswers } from './large-answers.ts';
import { readSessionText, sessionParts, type SessionSource } from './session-text.ts';

const sessionText = (session: Session): string => [...sessionParts(session)].join('');
const reported: unknown[] = [];
const answers = new LargeAnswers({
  limits: DEFAULT_LIMITS,
  platform: systemPlatform,
  queue: new WorkQueue(systemPlatform),
  report: (error) => reported.push(error),
});
const sessionResponse = (source: SessionSource, config?: GetSessionConfig): Promise<Response> =>
  answers.answer('ann', () => readSessionText(source, config));
const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };

/** A session with this number of events, and the windows of it that were read. */
async function subject(events: number, text = 'x') {
  const service = new InMemorySessionService();
  const session = await service.createSession({ ...KEY, state: { own: 1 } });
  for (let index = 1; index <= events; index++) {
    const content = { role: 'model', parts: [{ text }] };
    const event = createEvent({ id: String(index), author: 'a', timestamp: index, content });
    await service.appendEvent({ session, event });
  }
  const counts: number[] = [];
  const read = async (config: GetSessionConfig): Promise<Session> => {
    const found = await service.getSession({ ...KEY, config });
    if (!found) throw new SessionNotFoundError('there is none');
    counts.push(found.events.length);
    return found;
  };
  return { service, read, readEvents: read, counts };
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
    const { service, ...source } = await subject(events);
    for (const config of WINDOWS) {
      const whole = await service.getSession({ ...KEY, config });
      const response = await sessionResponse(source, config);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect((await response.text()) === (whole && sessionText(whole))).toBe(true);
    }
  },
);

test('at most one page of events is read at a time', async () => {
  const long = await subject(3000);
  await (await sessionResponse(long)).text();
  expect(Math.max(...long.counts)).toBe(1000);
  const heavy = await subject(300, 'x'.repeat(100_000));
  await (await sessionResponse(heavy)).text();
  expect(heavy.counts.slice(0, 2)).toEqual([100, 100]);
  expect(Math.max(...heavy.counts.slice(2))).toBeLessThan(12);
});

test.each([{}, { numRecentEvents: 8 }, { afterTimestamp: 3, numRecentEvents: 8 }, { afterTimestamp: 3 }])(
  'with known sizes at most one page of characters or one event is read at a time: %j',
  async (config) => {
    const { service } = await subject(0);
    const session = await service.getSession({ ...KEY });
    if (!session) return expect.unreachable();
    for (let index = 1; index <= 12; index++) {
      const content = { role: 'model', parts: [{ text: 'x'.repeat(index % 3 === 0 ? 1_500_000 : 400_000) }] };
      await service.appendEvent({ session, event: createEvent({ author: 'a', timestamp: index, content }) });
    }
    const sizes: number[][] = [];
    const read = async (each: GetSessionConfig) => {
      const found = (await service.getSession({ ...KEY, config: each })) ?? session;
      sizes.push(found.events.map((event) => JSON.stringify(event).length));
      return found;
    };
    const source = {
      read,
      readEvents: read,
      countWithin: async (each: GetSessionConfig, maxChars: number) => {
        const found = (await service.getSession({ ...KEY, config: each }))?.events ?? [];
        if (each.numRecentEvents !== undefined) found.reverse();
        let chars = 0;
        const over = found.findIndex((event) => (chars += JSON.stringify(event).length) > maxChars);
        return Math.max(1, over < 0 ? found.length : over);
      },
    };
    const whole = await service.getSession({ ...KEY, config });
    expect((await (await sessionResponse(source, config)).text()) === (whole && sessionText(whole))).toBe(true);
    const heavy = sizes.filter((page) => page.length > 1 && page.reduce((sum, size) => sum + size, 0) > 1024 * 1024);
    expect([heavy, sizes.length > 4]).toEqual([[], true]);
  },
);

test('events are read only as the client reads', async () => {
  const { counts, ...source } = await subject(3000);
  const response = await sessionResponse(source);
  expect(counts).toEqual([100]);
  await response.body?.cancel();
  expect(counts).toEqual([100]);
});

test('events appended during the read are not included', async () => {
  const { service, ...source } = await subject(300);
  const whole = await service.getSession(KEY);
  const response = await sessionResponse(source);
  await service.appendEvent({
    session: await source.read({}),
    event: createEvent({ id: 'late', author: 'a', timestamp: 1 }),
  });
  expect((await response.text()) === (whole && sessionText(whole))).toBe(true);
});

test('the stream of a session deleted and created again ends with an error', async () => {
  const { service, ...source } = await subject(300);
  const response = await sessionResponse(source);
  await service.deleteSession(KEY);
  await service.createSession(KEY);
  await expect(response.text()).rejects.toThrow('the session was deleted while it was read');
  expect(reported.splice(0)).toEqual([expect.any(SessionNotFoundError)]);
});

test('the state of a streamed session is read once', async () => {
  const { service, read, readEvents } = await subject(300);
  const whole = await service.getSession(KEY);
  let reads = 0;
  const source = {
    read: (config: GetSessionConfig) => {
      reads++;
      return read(config);
    },
    readEvents: async (config: GetSessionConfig) => ({ ...(await readEvents(config)), state: {} }),
  };
  expect((await (await sessionResponse(source)).text()) === (whole && sessionText(whole))).toBe(true);
  await (await sessionResponse(source, { afterTimestamp: 2, numRecentEvents: 150 })).text();
  expect(reads).toBe(2);
});

test.each([
  ['many pages', 2000, 5000],
  ['large events', 40, 100_000],
])('other work runs while a session of %s is written', async (_what, events, chars) => {
  const source = await subject(events, 'x'.repeat(chars));
  let turns = 0;
  let isRead = false;
  const reading = sessionResponse(source).then((response) => response.text().finally(() => (isRead = true)));
  while (!isRead) {
    turns++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await reading).length).toBeGreaterThan(events * chars);
  expect(turns).toBeGreaterThan(5);
});

test('a session with much state is streamed value by value with the same text', async () => {
  const service = new InMemorySessionService();
  const state = { small: 1, large: 'x'.repeat(2_000_000), 'user:last': ['é'.repeat(900_000), null] };
  const session = await service.createSession({ ...KEY, state });
  await service.appendEvent({ session, event: createEvent({ author: 'a', timestamp: 1 }) });
  const read = async () => (await service.getSession(KEY)) ?? session;
  const response = await sessionResponse({ read, readEvents: read });
  const chunks: number[] = [];
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk.length);
    text += decoder.decode(chunk, { stream: true });
  }
  const { id, appName, userId, events, lastUpdateTime } = await read();
  expect(text === JSON.stringify({ id, appName, userId, state: (await read()).state, lastUpdateTime, events })).toBe(
    true,
  );
  expect([chunks.length, Math.max(...chunks) < 2_000_100]).toEqual([3, true]);
});
