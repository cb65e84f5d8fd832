import { InvalidEventError, SizeLimitError, StaleWriterError, StateValueError } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { idsOf, KEY, readSession, sampleEvent, stateEvent } from './samples.ts';

/** Rules about appends of several events. */
export const appendsRules: readonly SessionRule[] = [
  {
    id: 'appends.like-each',
    title: 'Several events are appended in their order, with their state, and bring the session object up to date.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { before: 1, gone: 1 } });
      const lease = await service.acquireLease(KEY);
      await service.appendEvent({ session, event: sampleEvent('zero'), lease });
      platform.advance(1500);
      const events = [
        stateEvent('two', { own: 1, 'user:own': 1, 'temp:own': 1 }),
        stateEvent('one', { own: 2 }, ['gone']),
      ];
      const returned = await service.appendEvents({ session, appends: events.map((event) => ({ event })), lease });
      expect.same(
        'the ids of the returned events',
        returned.map(({ id }) => id),
        ['two', 'one'],
      );
      expect.same('the first of them, without temp: keys', returned[0]?.actions.stateDelta, { own: 1, 'user:own': 1 });
      expect.same('the events of the session object', idsOf(session), ['zero', 'two', 'one']);
      expect.same('its state', session.state, { before: 1, own: 2, 'user:own': 1, 'temp:own': 1 });
      expect.same('its lastSeq', session.lastSeq, 3);
      const stored = await readSession(subject);
      expect.same('the stored events', stored.events, session.events);
      expect.same('the stored state', stored.state, { before: 1, own: 2, 'user:own': 1 });
      expect.same('the time of the session', stored.lastUpdateTime, platform.now() / 1000);
      await service.appendEvent({ session, event: sampleEvent('three'), lease });
      expect.same('the events after another append', idsOf(await readSession(subject)), [
        'zero',
        'two',
        'one',
        'three',
      ]);
    },
  },
  {
    id: 'appends.one-moment',
    title: 'Readers see all of several events or none of them.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const appends = Array.from({ length: 8 }, (_, index) => ({ event: sampleEvent(`event ${index}`) }));
      let isDone = false;
      const done = (): void => void (isDone = true);
      const appending = service.appendEvents({ session, appends, lease });
      appending.then(done, done);
      const seen = new Set<number>();
      while (!isDone) {
        seen.add((await readSession(subject)).lastSeq);
        // A service in memory may answer without a turn of the event loop, which another writer needs.
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      await appending;
      seen.add((await readSession(subject)).lastSeq);
      seen.delete(0);
      expect.same('the numbers of events that readers saw', [...seen], [8]);
    },
  },
  {
    id: 'appends.all-or-none',
    title: 'If one of several events is refused, none is appended.',
    async check(subject) {
      const { service, maxBytes, expect } = subject;
      const session = await service.createSession(KEY);
      const first = { event: stateEvent('one', { own: 1, 'app:own': 1 }) };
      const lost = await service.acquireLease(KEY);
      const lease = await service.acquireLease({ ...KEY, onBusy: 'interrupt' });
      const stale = service.appendEvents({ session, appends: [first, { event: sampleEvent('two') }], lease: lost });
      await expect.rejects('an append under a lost lease', stale, StaleWriterError);
      const notJson = { event: sampleEvent('two', { customMetadata: { list: [new Map()] } }) };
      const refused = service.appendEvents({ session, appends: [first, notJson], lease });
      await expect.rejects('an event that is not JSON', refused, InvalidEventError);
      const noValue = { event: stateEvent('two', { own: () => 1 }) };
      await expect.rejects(
        'an event with state that is not JSON',
        service.appendEvents({ session, appends: [first, noValue], lease }),
        StateValueError,
      );
      const state = Object.fromEntries([1, 2, 3, 4, 5].map((index) => [`user:${index}`, 'x'.repeat(1_000_000)]));
      const tooMuch = service.appendEvents({ session, appends: [first, { event: stateEvent('two', state) }], lease });
      await expect.rejects('an event with too much state', tooMuch, SizeLimitError);
      if (maxBytes !== undefined) {
        const large = { event: sampleEvent('two', { content: { parts: [{ text: 'x'.repeat(maxBytes + 1) }] } }) };
        await expect.rejects(
          'an event that is too large',
          service.appendEvents({ session, appends: [first, large], lease }),
          SizeLimitError,
        );
      }
      for (const one of [session, await readSession(subject)])
        expect.same('the session', [one.events, one.state, one.lastSeq], [[], {}, 0]);
      await service.appendEvents({ session, appends: [first], lease });
      expect.same('the events afterwards', idsOf(await readSession(subject)), ['one']);
    },
  },
  {
    id: 'appends.repeated',
    title: 'Appending several stored events again returns the stored events and changes nothing.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const appends = [{ event: stateEvent('one', { own: 1 }) }, { event: sampleEvent('two') }];
      await service.appendEvents({ session, appends, lease });
      const before = await readSession(subject);
      platform.advance(1000);
      const again = [{ event: { ...stateEvent('one', { own: 2 }), author: 'other' } }, { event: sampleEvent('two') }];
      expect.same('the returned events', await service.appendEvents({ session, appends: again, lease }), before.events);
      expect.same('the stored session', await readSession(subject), before);
      expect.same('the session object', idsOf(session), ['one', 'two']);
      expect.same('an empty list', await service.appendEvents({ session, appends: [], lease }), []);
    },
  },
];
