import { type GetSessionConfig, InvalidRequestError } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { KEY, readSession, stateEvent } from './samples.ts';
import { gives, withTimes } from './window-samples.ts';

/** Rules about the events that a read with a window returns. */
export const windowRules: readonly SessionRule[] = [
  {
    id: 'window.num-recent',
    title:
      'numRecentEvents returns that many of the newest events in append order, or all if there are fewer; 0 returns none.',
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
    title: 'afterTimestamp returns the events at or after a time.',
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
    title: 'Events of the same time are in append order.',
    async check(subject) {
      await withTimes(subject, [1, 2, 2, 2, 2, 3]);
      await gives(subject, {}, [1, 2, 3, 4, 5, 6]);
      await gives(subject, { afterTimestamp: 2 }, [2, 3, 4, 5, 6]);
      await gives(subject, { afterTimestamp: 2, numRecentEvents: 3 }, [4, 5, 6]);
    },
  },
  {
    id: 'window.unordered-timestamps',
    title:
      'Events whose times are out of order stay in append order, and afterTimestamp returns all of them at or after the time.',
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
    title: 'afterSeq returns the events with a higher sequence number.',
    async check(subject) {
      await withTimes(subject, [3, 2, 1, 3, 2]);
      await gives(subject, { afterSeq: 0 }, [1, 2, 3, 4, 5]);
      await gives(subject, { afterSeq: 3 }, [4, 5]);
      await gives(subject, { afterSeq: 5 }, []);
      await gives(subject, { afterSeq: 99 }, []);
    },
  },
  {
    id: 'window.before-seq',
    title: 'beforeSeq returns the events with a lower sequence number.',
    async check(subject) {
      await withTimes(subject, [3, 2, 1, 3, 2]);
      await gives(subject, { beforeSeq: 0 }, []);
      await gives(subject, { beforeSeq: 1 }, []);
      await gives(subject, { beforeSeq: 3 }, [1, 2]);
      await gives(subject, { beforeSeq: 6 }, [1, 2, 3, 4, 5]);
      await gives(subject, { beforeSeq: 4, numRecentEvents: 2 }, [2, 3]);
      await gives(subject, { beforeSeq: 5, afterSeq: 2 }, [3, 4]);
      await gives(subject, { beforeSeq: 3, afterSeq: 3 }, []);
    },
  },
  {
    id: 'window.large-numbers',
    title: 'Sequence numbers and limits beyond the session’s events are accepted.',
    async check(subject) {
      await withTimes(subject, [1, 2, 3]);
      for (const large of [2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
        await gives(subject, { numRecentEvents: large }, [1, 2, 3]);
        await gives(subject, { beforeSeq: large, afterSeq: 1 }, [2, 3]);
        await gives(subject, { afterSeq: large }, []);
        await gives(subject, { afterTimestamp: large }, []);
        await gives(subject, { afterTimestamp: -large, numRecentEvents: large }, [1, 2, 3]);
      }
    },
  },
  {
    id: 'window.combined',
    title: 'A window with several conditions returns the newest of the events that meet all of them.',
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
    title: 'A window does not change state, lastSeq and lastUpdateTime of the session.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await withTimes(subject, [1, 2, 3]);
      await service.appendEvent({ session, event: stateEvent('state', { own: 1, 'app:motto': 'go' }) });
      const whole = await readSession(subject);
      const windows = [{ numRecentEvents: 0 }, { afterSeq: 3 }, { beforeSeq: 2 }, { afterTimestamp: 9e9 }];
      for (const config of [...windows, { sinceCompaction: true }]) {
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
    title: 'A window with invalid values is InvalidRequestError.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const bad: readonly GetSessionConfig[] = [
        { numRecentEvents: -1 },
        { numRecentEvents: 1.5 },
        { numRecentEvents: Number.NaN },
        { afterSeq: -1 },
        { afterSeq: 0.5 },
        { afterSeq: 1e300 },
        { beforeSeq: -1 },
        { beforeSeq: Infinity },
        { afterTimestamp: Number.NaN },
        { afterTimestamp: Infinity },
        { sinceCompaction: 1 as never },
      ];
      for (const config of bad) {
        await expect.rejects(Object.keys(config).join(), service.getSession({ ...KEY, config }), InvalidRequestError);
      }
    },
  },
];
