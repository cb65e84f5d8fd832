import { StaleWriterError } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { idsOf, KEY, OTHER_KEY, readSession, stateEvent } from './samples.ts';

const STRANGER_KEY = { ...KEY, userId: 'stranger' };
const OTHER_APP_KEY = { ...KEY, appName: 'other app' };

/** Rules about scopes, the merged state, and the effect of a delta on the stored state. */
export const stateRules: readonly SessionRule[] = [
  {
    id: 'state.create-splits-scopes',
    title:
      'Initial state is split by prefix: app: keys are in all sessions of the app, user: keys in those of the user, the others in the session.',
    async check(subject) {
      const { service, expect } = subject;
      const state = { own: 1, 'user:name': 'Ada', 'app:motto': 'go' };
      const session = await service.createSession({ ...KEY, state });
      expect.same('the state of the new session', session.state, state);
      expect.same('the state read back', (await readSession(subject)).state, state);
      expect.same('another session of the user', (await service.createSession(OTHER_KEY)).state, {
        'user:name': 'Ada',
        'app:motto': 'go',
      });
      expect.same('a session of another user', (await service.createSession(STRANGER_KEY)).state, {
        'app:motto': 'go',
      });
      expect.same('a session of another app', (await service.createSession(OTHER_APP_KEY)).state, {});
    },
  },
  {
    id: 'state.append-splits-scopes',
    title: 'stateDelta is split by prefix, and every session has the keys of its scopes.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      for (const key of [OTHER_KEY, STRANGER_KEY, OTHER_APP_KEY]) await service.createSession(key);
      const delta = { own: 1, 'user:name': 'Ada', 'app:motto': 'go' };
      await service.appendEvent({ session, event: stateEvent('one', delta) });
      expect.same('the session object', session.state, delta);
      expect.same('the stored session', (await readSession(subject)).state, delta);
      expect.same('another session of the user', (await readSession(subject, OTHER_KEY)).state, {
        'user:name': 'Ada',
        'app:motto': 'go',
      });
      expect.same('a session of another user', (await readSession(subject, STRANGER_KEY)).state, { 'app:motto': 'go' });
      expect.same('a session of another app', (await readSession(subject, OTHER_APP_KEY)).state, {});
    },
  },
  {
    id: 'state.app-seen-by-all',
    title:
      'A change of the app’s state is in the sessions of every user at once, when a key is set and when it is removed.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const stranger = await service.createSession(STRANGER_KEY);
      await service.appendEvent({ session, event: stateEvent('one', { 'app:motto': 'go', 'app:gone': 1 }) });
      const expected = { 'app:motto': 'go', 'app:gone': 1 };
      expect.same('a session of another user', (await readSession(subject, STRANGER_KEY)).state, expected);
      const { state } = await service.createSession({ ...STRANGER_KEY, sessionId: 'new' });
      expect.same('a new session of another user', state, expected);
      await service.appendEvent({ session: stranger, event: stateEvent('two', { 'app:motto': 'stay' }, ['app:gone']) });
      expect.same('the session of the first user', (await readSession(subject)).state, { 'app:motto': 'stay' });
    },
  },
  {
    id: 'state.prefixes-kept-apart',
    title: 'The same key in three scopes is three keys, each with its prefix.',
    async check(subject) {
      const { service, expect } = subject;
      const state = { key: 'session', 'user:key': 'user', 'app:key': 'app' };
      const session = await service.createSession({ ...KEY, state });
      await service.appendEvent({ session, event: stateEvent('one', { 'user:key': 'changed' }) });
      expect.same('the state', (await readSession(subject)).state, { ...state, 'user:key': 'changed' });
    },
  },
  {
    id: 'state.temp-not-stored',
    title: 'A temp: key of stateDelta is not stored in the state or in the event.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const event = stateEvent('one', { 'temp:scratch': 1, kept: 1 }, ['temp:gone', 'absent']);
      const returned = await service.appendEvent({ session, event });
      const stored = await readSession(subject);
      expect.same('the stored state', stored.state, { kept: 1 });
      for (const one of [returned, stored.events[0], session.events[0]]) {
        expect.same('the delta of the stored event', one?.actions.stateDelta, { kept: 1 });
        expect.same('the removed keys of the stored event', one?.actions.removedState, ['absent']);
      }
      expect.same('the caller’s event', event.actions.stateDelta, { 'temp:scratch': 1, kept: 1 });
      const only = await service.appendEvent({ session, event: stateEvent('two', { 'temp:a': 1 }, ['temp:scratch']) });
      expect.same('an event with nothing else', only.actions, { stateDelta: {}, artifactDelta: {} });
    },
  },
  {
    id: 'state.temp-shown-live',
    title: 'A temp: key stays in the session object of its append, also after later appends, until it is removed.',
    async check({ service, expect }) {
      const session = await service.createSession(KEY);
      await service.appendEvent({ session, event: stateEvent('one', { 'temp:scratch': 1 }) });
      expect.same('the live state', session.state, { 'temp:scratch': 1 });
      await service.appendEvent({ session, event: stateEvent('two', { kept: 1 }) });
      expect.same('the live state after another append', session.state, { 'temp:scratch': 1, kept: 1 });
      await service.appendEvent({ session, event: stateEvent('three', {}, ['temp:scratch']) });
      expect.same('the live state after the removal', session.state, { kept: 1 });
    },
  },
  {
    id: 'state.temp-dropped-on-create',
    title: 'A temp: key of the initial state is not stored.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { 'temp:scratch': 1, kept: 1 } });
      expect.same('the new session', session.state, { kept: 1 });
      expect.same('the stored session', (await readSession(subject)).state, { kept: 1 });
    },
  },
  {
    id: 'state.null-is-a-value',
    title: 'A key with the value null is stored and not removed.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { first: null, 'app:first': null } });
      await service.appendEvent({ session, event: stateEvent('one', { second: null, 'user:second': null }) });
      const expected = { first: null, 'app:first': null, second: null, 'user:second': null };
      expect.same('the session object', session.state, expected);
      expect.same('the stored state', (await readSession(subject)).state, expected);
    },
  },
  {
    id: 'state.remove',
    title: 'removedState removes each key only in its own scope.',
    async check(subject) {
      const { service, expect } = subject;
      const state = { key: 1, 'user:key': 1, 'app:key': 1, other: 1, 'user:other': 1, 'app:other': 1 };
      const session = await service.createSession({ ...KEY, state });
      for (const removed of ['key', 'user:key', 'app:key']) {
        await service.appendEvent({ session, event: stateEvent(`without ${removed}`, {}, [removed]) });
        const left = Object.fromEntries(Object.entries(session.state));
        expect.same(`the stored state without ${removed}`, (await readSession(subject)).state, left);
        expect.true(`${removed} is gone`, !Object.hasOwn(left, removed));
      }
      expect.same('the remaining state', session.state, { other: 1, 'user:other': 1, 'app:other': 1 });
      expect.same('a new session', (await service.createSession(OTHER_KEY)).state, { 'user:other': 1, 'app:other': 1 });
    },
  },
  {
    id: 'state.remove-wins',
    title: 'A key that one event sets and removes is removed, and removing an absent key is a no-op.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const event = stateEvent('one', { both: 1, 'app:both': 1, kept: 1 }, ['both', 'app:both', 'absent']);
      await expect.fulfils('the append', service.appendEvent({ session, event }));
      expect.same('the session object', session.state, { kept: 1 });
      expect.same('the stored state', (await readSession(subject)).state, { kept: 1 });
      await service.appendEvent({ session, event: stateEvent('two', { both: 2 }) });
      expect.same('the state when it is set again', (await readSession(subject)).state, { kept: 1, both: 2 });
    },
  },
  {
    id: 'state.repeated',
    title: 'The keys of repeatedState are stored in their event and not applied again; the other keys are applied.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const other = await service.createSession(OTHER_KEY);
      const first = { 'user:balance': 10, own: 1, 'user:back': 1 };
      await service.appendEvent({ session, event: stateEvent('one', first, ['user:gone']) });
      await service.appendEvent({ session: other, event: stateEvent('other', { 'user:balance': 20, 'user:gone': 1 }) });
      const event = stateEvent('two', { ...first, added: 2 }, ['user:gone', 'user:back']);
      const repeatedState = new Set(['user:balance', 'own', 'user:gone']);
      const returned = await service.appendEvent({ session, event, repeatedState });
      expect.same('the returned event', returned.actions, event.actions);
      const stored = await readSession(subject);
      expect.same('the stored event', stored.events[1]?.actions, event.actions);
      expect.same('the stored state', stored.state, { 'user:balance': 20, 'user:gone': 1, own: 1, added: 2 });
      expect.same('the added key of the session object', session.state['added'], 2);
    },
  },
  {
    id: 'state.shallow-replace',
    title: 'A key’s value is replaced as a whole, never merged.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { user: { name: 'Ada', age: 36 } } });
      await service.appendEvent({ session, event: stateEvent('one', { user: { name: 'Grace' } }) });
      expect.same('the session object', session.state, { user: { name: 'Grace' } });
      expect.same('the stored state', (await readSession(subject)).state, { user: { name: 'Grace' } });
    },
  },
  {
    id: 'state.shared-by-sessions',
    title:
      'Writes of two sessions to different keys of one user are both kept, and the later of two writes to one key is kept.',
    async check(subject) {
      const { service, expect } = subject;
      const one = await service.createSession(KEY);
      const other = await service.createSession(OTHER_KEY);
      await Promise.all([
        service.appendEvent({ session: one, event: stateEvent('one', { 'user:one': 1, 'app:one': 1 }) }),
        service.appendEvent({ session: other, event: stateEvent('other', { 'user:other': 1, 'app:other': 1 }) }),
      ]);
      await service.appendEvent({ session: one, event: stateEvent('two', { 'user:both': 'first' }) });
      await service.appendEvent({ session: other, event: stateEvent('more', { 'user:both': 'second' }) });
      const expected = { 'user:one': 1, 'app:one': 1, 'user:other': 1, 'app:other': 1, 'user:both': 'second' };
      expect.same('the state', (await readSession(subject)).state, expected);
    },
  },
  {
    id: 'state.stored-with-event',
    title: 'A refused append stores neither its event nor its state in any scope.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      await service.releaseLease(lease);
      const event = stateEvent('late', { own: 1, 'user:name': 'Ada', 'app:motto': 'go', 'temp:scratch': 1 });
      await expect.rejects('the append', service.appendEvent({ session, event, lease }), StaleWriterError);
      const stored = await readSession(subject);
      expect.same('the stored state', stored.state, {});
      expect.same('the stored events', idsOf(stored), []);
      expect.same('the session object', [session.state, session.events, session.lastSeq], [{}, [], 0]);
    },
  },
  {
    id: 'state.delta-own-copy',
    title: 'Changing a value of stateDelta after the append does not change the state.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const list = [{ inner: 1 }];
      await service.appendEvent({ session, event: stateEvent('one', { list, 'app:list': list }) });
      // A service may freeze the given values; they must only stay unchanged.
      Reflect.set(list, list.length, { inner: 2 });
      if (list[0]) Reflect.set(list[0], 'inner', 3);
      const expected = { list: [{ inner: 1 }], 'app:list': [{ inner: 1 }] };
      expect.same('the session object', session.state, expected);
      (session.state['list'] as unknown[]).push(4);
      expect.same('the stored state', (await readSession(subject)).state, expected);
    },
  },
];
