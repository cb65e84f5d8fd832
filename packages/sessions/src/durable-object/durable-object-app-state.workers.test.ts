import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { createEvent } from '@eventloom/core';
import { expect, test } from 'vitest';
import { DurableObjectAppState } from './durable-object-app-state.ts';
import { DurableObjectSessionService } from './durable-object-session-service.ts';

const KEY = { appName: 'app', userId: 'user' };

/** Runs work inside a new object, with a service and its copy of the app's state. */
function inObject(work: (service: DurableObjectSessionService, app: DurableObjectAppState) => Promise<void>) {
  return runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), (_instance, { storage }) =>
    work(new DurableObjectSessionService({ storage }), new DurableObjectAppState(storage)),
  );
}

test('a write is pending until it is settled, with the newest value of each key', () =>
  inObject(async (service, app) => {
    await service.createSession({ ...KEY, state: { 'app:a': 1, 'app:b': 2, own: 3 } });
    await service.createSession({ ...KEY, state: { 'app:a': 4 } });
    const pending = app.pending('app', 1000);
    expect(pending.map(({ key, value }) => [key, value])).toEqual([
      ['b', '2'],
      ['a', '4'],
    ]);
    app.settle('app', pending[0]?.seq ?? 0);
    expect(app.pending('app', 1).map(({ key }) => key)).toEqual(['a']);
    expect(app.pendingApps()).toEqual([{ appName: 'app', sinceMs: pending[1]?.writtenMs }]);
  }));

test('writes of other objects are applied without being sent back, and do not overwrite pending ones', () =>
  inObject(async (service, app) => {
    await service.createSession({ ...KEY, sessionId: 's', state: { 'app:mine': 1 } });
    app.apply('app', 7, [
      { key: 'mine', value: '2' },
      { key: 'theirs', value: '3' },
    ]);
    const session = await service.getSession({ ...KEY, sessionId: 's' });
    expect(session?.state).toEqual({ 'app:mine': 1, 'app:theirs': 3 });
    expect(app.pending('app', 1000).map(({ key }) => key)).toEqual(['mine']);
    expect(app.version('app')).toBe(7);
  }));

test('a removal is also pending, even of a key that the copy lacks', () =>
  inObject(async (service, app) => {
    const session = await service.createSession({ ...KEY, state: { 'app:mine': 1 } });
    app.settle('app', app.pending('app', 1000).at(-1)?.seq ?? 0);
    const actions = { removedState: ['app:mine', 'app:theirs'] };
    await service.appendEvent({ session, event: createEvent({ author: 'a', actions }) });
    expect(app.pending('app', 1000).map(({ key, value }) => [key, value])).toEqual([
      ['mine', null],
      ['theirs', null],
    ]);
    expect((await service.getSession({ ...KEY, sessionId: session.id }))?.state).toEqual({});
  }));

test('a delivery has as many changes as fit, and at least one', () =>
  inObject(async (service, app) => {
    const large = 'x'.repeat(600_000);
    await service.createSession({ ...KEY, state: { 'app:a': large, 'app:b': large, 'app:c': large } });
    const keys = (maxChars: number) => app.pending('app', maxChars).map(({ key }) => key);
    expect([keys(1), keys(1_000_000), keys(10_000_000)]).toEqual([['a'], ['a', 'b'], ['a', 'b', 'c']]);
  }));
