import { StaleWriterError } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { appendAll, idsOf, KEY, OTHER_KEY, readSession, sampleEvent, stateEvent } from './samples.ts';

/** Rules about appends by several writers, and through several session objects. */
export const appendConcurrencyRules: readonly SessionRule[] = [
  {
    id: 'append.catches-up',
    title: 'An append through an outdated session object adds the missing events and state to it, in order.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const writer = await service.createSession({ ...KEY, state: { first: 1 } });
      const behind = await readSession(subject);
      await service.appendEvent({ session: behind, event: stateEvent('temp', { 'temp:scratch': 1 }) });
      await service.appendEvent({ session: writer, event: stateEvent('one', { second: 1, 'user:name': 'Ada' }) });
      await service.appendEvent({ session: writer, event: stateEvent('two', { third: 1 }, ['first']) });
      platform.advance(1000);
      await service.appendEvent({ session: behind, event: stateEvent('three', { fourth: 1, 'temp:more': 1 }) });
      const stored = await readSession(subject);
      expect.same('the stored events', idsOf(stored), ['temp', 'one', 'two', 'three']);
      expect.same('its events', idsOf(behind), idsOf(stored));
      expect.same('its state', behind.state, { ...stored.state, 'temp:scratch': 1, 'temp:more': 1 });
      expect.same('its lastSeq', behind.lastSeq, 4);
      expect.same('its lastUpdateTime', behind.lastUpdateTime, stored.lastUpdateTime);
      await service.appendEvent({ session: writer, event: sampleEvent('two') });
      expect.same('the events of an object whose append was a duplicate', idsOf(writer), idsOf(stored));
    },
  },
  {
    id: 'append.repeated',
    title:
      'Repeating an append whose answer was lost updates the session object with its event and state, including temp: keys.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const event = stateEvent('one', { own: 1, 'temp:scratch': 1 });
      await service.appendEvent({ session: structuredClone(session), event });
      await service.appendEvent({ session, event });
      await service.appendEvent({ session, event: sampleEvent('two') });
      expect.same('its events', [idsOf(session), session.lastSeq], [['one', 'two'], 2]);
      expect.same('its state', session.state, { own: 1, 'temp:scratch': 1 });
      expect.same('the stored events', idsOf(await readSession(subject)), ['one', 'two']);
    },
  },
  {
    id: 'append.windowed-session',
    title: 'An append to a session object that was read with a window adds its event after the window.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      await appendAll(service, session, ['one', 'two', 'three']);
      const window = await readSession(subject, KEY, { numRecentEvents: 1 });
      const none = await readSession(subject, KEY, { numRecentEvents: 0 });
      await appendAll(service, window, ['four']);
      expect.same('the window', [idsOf(window), window.lastSeq], [['three', 'four'], 4]);
      await appendAll(service, none, ['five']);
      expect.same('the empty window', [idsOf(none), none.lastSeq], [['four', 'five'], 5]);
    },
  },
  {
    id: 'append.concurrent',
    title: 'Concurrent appends without a lease are each stored once, with their state.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const numbers = Array.from({ length: 8 }, (_, index) => index);
      const writers = await Promise.all(numbers.map(() => readSession(subject)));
      const appends = writers.map((session, index) =>
        service.appendEvent({
          session,
          event: stateEvent(`event ${index}`, { [`key ${index}`]: index, 'user:last': 1 }),
        }),
      );
      await expect.fulfils('the appends', Promise.all(appends));
      const stored = await readSession(subject);
      expect.same('the events', idsOf(stored).sort(), numbers.map((index) => `event ${index}`).sort());
      expect.same('the number of keys', Object.keys(stored.state).length, numbers.length + 1);
      expect.same('lastSeq', stored.lastSeq, numbers.length);
    },
  },
  {
    id: 'append.one-object-concurrently',
    title: 'Concurrent appends through one session object leave every event in it once, in the stored order.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const events = Array.from({ length: 8 }, (_, index) => stateEvent(`event ${index}`, { [`key ${index}`]: index }));
      await expect.fulfils(
        'the appends',
        Promise.all(events.map((event) => service.appendEvent({ session, event, lease }))),
      );
      const stored = await readSession(subject);
      expect.same('the number of events', stored.events.length, events.length);
      expect.same('the events of the object', idsOf(session), idsOf(stored));
      expect.same('its state', session.state, stored.state);
    },
  },
  {
    id: 'append.lease-of-another-session',
    title: 'An append under the lease of another session is StaleWriterError.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const session = await service.createSession(OTHER_KEY);
      const lease = await service.acquireLease(KEY);
      const append = service.appendEvent({ session, event: stateEvent('one', { own: 1 }), lease });
      await expect.rejects('the append', append, StaleWriterError);
      const forged = { ...lease, ...OTHER_KEY, epoch: lease.epoch + 1000 };
      const forgery = service.appendEvent({ session, event: stateEvent('one', { own: 1 }), lease: forged });
      await expect.rejects('an append with an invented lease', forgery, StaleWriterError);
      expect.same('the other session', idsOf(await readSession(subject, OTHER_KEY)), []);
    },
  },
];
