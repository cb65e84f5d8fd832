import { type GetSessionConfig, InvalidRequestError, type Session } from '@eventloom/core';
import type { SessionRule, Subject } from './session-rule.ts';
import { idsOf, KEY, readSession, sampleEvent, stateEvent } from './samples.ts';

/** Which events a read gives. */
export const windowRules: readonly SessionRule[] = [
  {
    id: 'window.num-recent',
    title: 'numRecentEvents gives the newest so many, in append order, and all when there are fewer; 0 gives none.',
    async check(subject) {
      await withTimes(subject, [1, 2, 3, 4, 5]);
      await gives(subject, { numRecentEvents: 2 }, [4, 5]);
      await gives(subject, { numRecentEvents: 5 }, [1, 2, 3, 4, 5]);
      await gives(subject, { numRecentEvents: 9 }, [1, 2, 3, 4, 5]);
      await gives(subject, { numRecentEvents: 0 }, []);
    },
  },
  {
    id: 'window.after-timestamp',
    title: 'afterTimestamp gives the events at or after a time.',
    async check(subject) {
      await withTimes(subject, [1, 2.5, 2.75, 4]);
      await gives(subject, { afterTimestamp: 2.5 }, [2, 3, 4]);
      await gives(subject, { afterTimestamp: 2.6 }, [3, 4]);
      await gives(subject, { afterTimestamp: 0 }, [1, 2, 3, 4]);
      await gives(subject, { afterTimestamp: 4 }, [4]);
      await gives(subject, { afterTimestamp: 4.001 }, []);
    },
  },
  {
    id: 'window.equal-timestamps',
    title: 'Events of one time keep the order in which they were appended.',
    async check(subject) {
      await withTimes(subject, [1, 2, 2, 2, 2, 3]);
      await gives(subject, {}, [1, 2, 3, 4, 5, 6]);
      await gives(subject, { afterTimestamp: 2 }, [2, 3, 4, 5, 6]);
      await gives(subject, { afterTimestamp: 2, numRecentEvents: 3 }, [4, 5, 6]);
    },
  },
  {
    id: 'window.unordered-timestamps',
    title: 'Events whose times are out of order stay in append order, and none at or after the time is left out.',
    async check(subject) {
      await withTimes(subject, [5, 1, 4, 9, 2, 6, 3, 7]);
      await gives(subject, {}, [1, 2, 3, 4, 5, 6, 7, 8]);
      await gives(subject, { afterTimestamp: 4 }, [1, 3, 4, 6, 8]);
      await gives(subject, { afterTimestamp: 4, numRecentEvents: 2 }, [6, 8]);
      await gives(subject, { afterTimestamp: 4, numRecentEvents: 4 }, [3, 4, 6, 8]);
      await gives(subject, { afterTimestamp: 4, afterSeq: 3 }, [4, 6, 8]);
      await gives(subject, { numRecentEvents: 2 }, [7, 8]);
    },
  },
  {
    id: 'window.after-seq',
    title: 'afterSeq gives the events with a higher sequence number.',
    async check(subject) {
      await withTimes(subject, [3, 2, 1, 3, 2]);
      await gives(subject, { afterSeq: 0 }, [1, 2, 3, 4, 5]);
      await gives(subject, { afterSeq: 3 }, [4, 5]);
      await gives(subject, { afterSeq: 5 }, []);
      await gives(subject, { afterSeq: 99 }, []);
    },
  },
  {
    id: 'window.combined',
    title: 'Conditions combine: events meet all of them, and of these the newest are given.',
    async check(subject) {
      await withTimes(subject, [1, 2, 3, 4, 5, 6]);
      await gives(subject, { afterTimestamp: 3, numRecentEvents: 2 }, [5, 6]);
      await gives(subject, { afterTimestamp: 5, numRecentEvents: 4 }, [5, 6]);
      await gives(subject, { afterSeq: 1, numRecentEvents: 3 }, [4, 5, 6]);
      await gives(subject, { afterSeq: 4, numRecentEvents: 3 }, [5, 6]);
      await gives(subject, { afterSeq: 2, afterTimestamp: 2 }, [3, 4, 5, 6]);
      await gives(subject, { afterSeq: 1, afterTimestamp: 4, numRecentEvents: 2 }, [5, 6]);
      await gives(subject, { afterSeq: 1, afterTimestamp: 4, numRecentEvents: 0 }, []);
    },
  },
  {
    id: 'window.rest-is-whole',
    title: 'A window narrows the events only: state, lastSeq and lastUpdateTime are the session’s.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await withTimes(subject, [1, 2, 3]);
      await service.appendEvent({ session, event: stateEvent('state', { own: 1, 'app:motto': 'go' }) });
      const whole = await readSession(subject);
      for (const config of [{ numRecentEvents: 0 }, { afterSeq: 3 }, { afterTimestamp: 9e9 }]) {
        const { state, lastSeq, lastUpdateTime } = await readSession(subject, KEY, config);
        expect.same(
          `the rest with ${JSON.stringify(config)}`,
          { state, lastSeq, lastUpdateTime },
          { state: { own: 1, 'app:motto': 'go' }, lastSeq: 4, lastUpdateTime: whole.lastUpdateTime },
        );
      }
    },
  },
  {
    id: 'window.bad-values-refused',
    title: 'A window of numbers that make no sense is refused.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const bad: readonly GetSessionConfig[] = [
        { numRecentEvents: -1 },
        { numRecentEvents: 1.5 },
        { numRecentEvents: Number.NaN },
        { afterSeq: -1 },
        { afterSeq: 0.5 },
        { afterTimestamp: Number.NaN },
      ];
      for (const config of bad) {
        await expect.rejects(Object.keys(config).join(), service.getSession({ ...KEY, config }), InvalidRequestError);
      }
    },
  },
];

/** A session whose events, named 1, 2, 3 and so on, have these timestamps. */
async function withTimes({ service }: Subject, timestamps: readonly number[]): Promise<Session> {
  const session = await service.createSession(KEY);
  for (const [index, timestamp] of timestamps.entries()) {
    await service.appendEvent({ session, event: sampleEvent(String(index + 1), { timestamp }) });
  }
  return session;
}

async function gives(subject: Subject, config: GetSessionConfig, expected: readonly number[]): Promise<void> {
  const session = await readSession(subject, KEY, config);
  subject.expect.same(`the events with ${JSON.stringify(config)}`, idsOf(session).map(Number), expected);
}
