import { type Event, StaleWriterError } from '@eventloom/core';
import { oddValues } from './rich-session.ts';
import type { SessionRule } from './session-rule.ts';
import { idsOf, KEY, OTHER_KEY, readSession, sampleEvent } from './samples.ts';

/** Ids that a back end may confuse with each other, or consider too long. */
const ODD_IDS: readonly string[] = [
  'i'.repeat(256),
  `${'i'.repeat(255)}j`,
  '€'.repeat(85),
  '__proto__',
  'constructor',
  'Event',
  'event',
  ' event',
  'event ',
  'é',
  'e\u0301',
  '1',
  '01',
  '%',
  '_',
  "'; DROP TABLE events; --",
];

/** Rules about the values of events: they are stored unchanged. */
export const appendValueRules: readonly SessionRule[] = [
  {
    id: 'append.values-kept',
    title:
      'JSON values in an event are read back unchanged: any keys, Unicode, null, nested and empty values; -0 becomes 0.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const event = sampleEvent('one', {
        timestamp: 1_767_323_045.123456,
        customMetadata: { ...oddValues(), deep: nest(150), negative: -0 },
        content: { role: 'model', parts: [{ functionCall: { id: '', name: 'tool', args: oddValues() } }] },
        actions: { agentState: oddValues() },
      });
      const returned = await service.appendEvent({ session, event });
      const [stored] = (await readSession(subject)).events;
      for (const one of [returned, stored]) {
        expect.same('the event', one, event);
        expect.true('-0 is stored as 0', Object.is(one?.customMetadata?.['negative'], 0));
        const proto = one?.customMetadata?.['proto'] as object;
        expect.true('__proto__ inside a value is data', Object.hasOwn(proto, '__proto__'));
      }
    },
  },
  {
    id: 'append.odd-ids',
    title: 'Any well-formed text of up to 256 bytes without NUL is an event id.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      for (const id of ODD_IDS) await service.appendEvent({ session, event: sampleEvent(id) });
      const stored = await readSession(subject);
      expect.same('the stored ids', idsOf(stored), ODD_IDS);
      for (const [index, id] of ODD_IDS.entries()) {
        const again = sampleEvent(id, { author: 'other' });
        expect.same('a duplicate', await service.appendEvent({ session, event: again }), stored.events[index]);
      }
      expect.same('the number of them', (await readSession(subject)).lastSeq, ODD_IDS.length);
    },
  },
  {
    id: 'append.artifact-delta',
    title: 'artifactDelta is stored with its event, changes no state, and is not stored when the append is refused.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const artifactDelta = JSON.parse('{"file.txt": 0, "user:a/b.png": 12, "__proto__": 1}') as Record<string, number>;
      const event = sampleEvent('one', { actions: { artifactDelta } });
      await service.appendEvent({ session, event, lease });
      await service.releaseLease(lease);
      const late = service.appendEvent({ session, event: { ...event, id: 'late' }, lease });
      await expect.rejects('an append under an expired lease', late, StaleWriterError);
      const { events, state } = await readSession(subject);
      for (const shown of [events, session.events]) expect.same('the deltas', shown.map(deltaOf), [artifactDelta]);
      expect.same('the state', state, {});
    },
  },
  {
    id: 'append.ids-of-one-session',
    title: 'Event ids are unique only within a session: other sessions may have an event with the same id.',
    async check(subject) {
      const { service, expect } = subject;
      const keys = [KEY, OTHER_KEY, { ...KEY, userId: 'somebody' }, { ...KEY, appName: 'another app' }];
      const authorOf = (key: typeof KEY): string => `${key.appName} ${key.userId} ${key.sessionId}`;
      for (const key of keys) {
        const session = await service.createSession(key);
        await service.appendEvent({ session, event: sampleEvent('one', { author: authorOf(key) }) });
      }
      for (const key of keys) {
        const { events } = await readSession(subject, key);
        expect.same(
          'the author',
          events.map(({ author }) => author),
          [authorOf(key)],
        );
      }
    },
  },
];

function deltaOf({ actions }: Event): Readonly<Record<string, number>> {
  return actions.artifactDelta;
}

function nest(depth: number): unknown {
  return depth === 0 ? 'bottom' : { down: nest(depth - 1) };
}
