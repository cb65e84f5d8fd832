import { inspect } from 'node:util';
import {
  type CreateSessionRequest,
  createEvent,
  type Event,
  type EventParams,
  InvalidEventError,
  InvalidRequestError,
} from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { ManualPlatform, sessionServiceConformance } from './conformance/index.ts';
import { DriverSessionService } from './driver-session-service.ts';
import { InMemorySessionDriver } from './in-memory-session-driver.ts';
import { InMemorySessionService } from './in-memory-session-service.ts';
import type { SessionDriver } from './session-driver.ts';

/** A driver that answers asynchronously, after a different number of turns for each call, like one over a network. */
function slow(driver: InMemorySessionDriver): SessionDriver {
  let calls = 0;
  return new Proxy<SessionDriver>(driver, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (name === 'shared' || typeof found !== 'function') return found;
      return async (...args: unknown[]) => {
        for (let turn = calls++ % 5; turn > 0; turn--) await Promise.resolve();
        const answer: unknown = found.apply(target, args);
        for (let turn = calls++ % 3; turn > 0; turn--) await Promise.resolve();
        return answer;
      };
    },
  });
}

describe('a service over an asynchronous driver keeps the contract', () => {
  const cases = sessionServiceConformance(async ({ platform }) => ({
    service: new DriverSessionService(slow(new InMemorySessionDriver()), { platform }),
  }));
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

describe('DriverSessionService', () => {
  test('gives state that console.log shows as a plain object', async () => {
    const service = new InMemorySessionService();
    const { state } = await service.createSession({ appName: 'app', userId: 'ann', state: { a: 1, 'user:b': [2] } });
    expect(inspect(state)).toBe("{ 'user:b': [ 2 ], a: 1 }");
  });

  test.each([
    ['createSession', (...args: unknown[]) => new InMemorySessionService().createSession(...(args as [never]))],
    ['getSession', async (...args: unknown[]) => new InMemorySessionService().getSession(...(args as [never]))],
    ['deleteSession', (...args: unknown[]) => new InMemorySessionService().deleteSession(...(args as [never]))],
  ])('%s refuses positional arguments, and says what to write', async (method, call) => {
    await expect(call('app', 'ada', 's1')).rejects.toThrow(InvalidRequestError);
    await expect(call('app', 'ada', 's1')).rejects.toThrow(
      `${method}: expected one object, got a string; write ${method}({ appName, userId, sessionId })`,
    );
  });

  test.each([
    [['Rome'], 'a list'],
    ['Rome', 'a string'],
  ])('createSession refuses the state %j, and says what to write', async (state, kind) => {
    const service = new InMemorySessionService();
    const created = service.createSession({ appName: 'app', userId: 'ada', sessionId: 's1', state: state as never });
    await expect(created).rejects.toThrow(
      `createSession: state: expected an object, got ${kind}; write state: { city: 'Rome' }`,
    );
    expect(await service.getSession({ appName: 'app', userId: 'ada', sessionId: 's1' })).toBeUndefined();
  });

  test('appendEvent refuses a session and an event as positional arguments', async () => {
    const service = new InMemorySessionService();
    const session = await service.createSession({ appName: 'app', userId: 'ada' });
    expect(() => service.appendEvent(session as never)).toThrow('write appendEvent({ session, event })');
  });

  test('fills in a missing event id and timestamp', async () => {
    const platform = new ManualPlatform();
    const service = new InMemorySessionService({ platform });
    const session = await service.createSession({ appName: 'app', userId: 'user' });
    const first = await service.appendEvent({ session, event: createEvent({ author: 'user', id: '', timestamp: 0 }) });
    const second = await service.appendEvent({ session, event: createEvent({ author: 'user', id: '', timestamp: 5 }) });
    expect(first).toMatchObject({ author: 'user', timestamp: platform.now() / 1000 });
    expect(second.timestamp).toBe(5);
    expect(first.id).not.toBe('');
    expect(second.id).not.toBe(first.id);
    expect(session.events).toEqual([first, second]);
  });

  test('refuses an event whose id or time cannot be stored', async () => {
    const service = new InMemorySessionService();
    const session = await service.createSession({ appName: 'app', userId: 'user' });
    const append = async (params: EventParams): Promise<Event> =>
      service.appendEvent({ session, event: createEvent({ author: 'user', ...params }) });
    for (const id of ['a\0b', 'x'.repeat(257)])
      await expect(append({ id })).rejects.toBeInstanceOf(InvalidRequestError);
    for (const timestamp of [Number.NaN, 1e300, -1e300]) {
      await expect(append({ timestamp })).rejects.toBeInstanceOf(InvalidEventError);
    }
    expect(session.events).toEqual([]);
  });

  test('answers synchronously if its driver does', async () => {
    const service = new InMemorySessionService();
    const key = { appName: 'app', userId: 'user', sessionId: 'session' };
    const session = await service.createSession(key);
    const lease = await service.acquireLease(key);
    const call = { invocationId: 'e-1', entryId: 'call', name: 'tool', status: 'started' } as const;
    const answers = [
      service.getSession(key),
      service.appendEvent({ session, event: createEvent({ author: 'user' }), lease }),
      service.recordToolCall(lease, call),
      service.listToolCalls({ ...key, invocationId: 'e-1' }),
      service.renewLease(lease),
      service.releaseLease(lease),
    ];
    expect(answers.filter((answer) => answer instanceof Promise)).toEqual([]);
    expect(answers[3]).toEqual([call]);
  });

  test('shares one sealed copy of an in-memory event', async () => {
    const service = new InMemorySessionService();
    const session = await service.createSession({ appName: 'app', userId: 'user', sessionId: 'session' });
    const event = createEvent({ id: 'one', timestamp: 1, author: 'user' });
    const stored = await service.appendEvent({ session, event });
    expect([stored === event, Object.isFrozen(stored), Object.isFrozen(event)]).toEqual([false, true, false]);
    expect(session.events[0]).toBe(stored);
    const read = await service.getSession({ appName: 'app', userId: 'user', sessionId: 'session' });
    expect(read?.events[0]).toBe(stored);
  });

  test.each([
    [{ userId: 'u' }, "appName: expected a string, got nothing; write appName: 'app'"],
    [{ app_name: 'a', userId: 'u' }, 'createSession: has no option "app_name"; did you mean "appName"?'],
    [{ appName: 'a', user: 'u' }, 'createSession: has no option "user"; did you mean "userId"?'],
    [{ appName: 'a', userId: '' }, "userId: is empty; write userId: 'ada'"],
    [{ appName: 'a' }, "userId: expected a string, got nothing; write userId: 'ada'"],
    [{ appName: 'a', userId: { id: 'u' } }, "userId: expected a string, got an object; write userId: 'ada'"],
  ])('refuses a first session with the key %j', async (key, message) => {
    const service = new InMemorySessionService();
    const creating = service.createSession(key as unknown as CreateSessionRequest);
    await expect(creating).rejects.toThrow(new InvalidRequestError(message));
  });

  test('lets 1,000 callers wait for a session and refuses the next immediately', async () => {
    const service = new InMemorySessionService();
    const key = { appName: 'app', userId: 'user', sessionId: 'session' };
    await service.createSession(key);
    const held = await service.acquireLease(key);
    const givingUp = new AbortController();
    const waiting = Array.from({ length: 1000 }, () => service.acquireLease({ ...key, abortSignal: givingUp.signal }));
    const settled = Promise.allSettled(waiting);
    await expect(service.acquireLease(key)).rejects.toMatchObject({ code: 'SESSION_BUSY', retryable: true });
    givingUp.abort();
    expect((await settled).every(({ status }) => status === 'rejected')).toBe(true);
    await service.releaseLease(held);
    await service.releaseLease(await service.acquireLease(key));
  });
});

test('createSession says what to write when it gets an id instead of a sessionId', async () => {
  const service = new InMemorySessionService();
  await expect(service.createSession({ appName: 'app', userId: 'ann', id: 's' } as never)).rejects.toThrow(
    'createSession: has no option "id"; did you mean "sessionId"?',
  );
});
