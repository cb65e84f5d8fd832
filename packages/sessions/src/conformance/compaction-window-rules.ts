import type { GetSessionConfig } from '@eventloom/core';
import type { SessionRule, Subject } from './session-rule.ts';
import { KEY, readSession } from './samples.ts';
import { appendTimes, gives, namesIn, type TimedEvent, timedEvent, withTimes } from './window-samples.ts';

/** Rules about the effective events since the last compaction. */
export const compactionWindowRules: readonly SessionRule[] = [
  {
    id: 'window.since-compaction',
    title: 'sinceCompaction returns the compaction and the events later than the end of its range.',
    async check(subject) {
      const session = await withTimes(subject, [1, 2, 2, 2.5, [4, 2], 5, 4]);
      await gives(subject, { sinceCompaction: true }, [4, 5, 6, 7]);
      await gives(subject, { sinceCompaction: false }, [1, 2, 3, 4, 5, 6, 7]);
      const { events } = await readSession(subject, KEY, { sinceCompaction: true });
      subject.expect.same('the event with the compaction', events[1], timedEvent('5', [4, 2]));
      await appendTimes(subject, session, [6]);
      await gives(subject, { sinceCompaction: true }, [4, 5, 6, 7, 8]);
    },
  },
  {
    id: 'window.without-compaction',
    title: 'sinceCompaction returns all events of a session without a compaction.',
    async check(subject) {
      await withTimes(subject, [3, 1, 2, -5]);
      await gives(subject, { sinceCompaction: true }, [1, 2, 3, 4]);
      await gives(subject, { sinceCompaction: true, numRecentEvents: 2 }, [3, 4]);
    },
  },
  {
    id: 'window.several-compactions',
    title:
      'sinceCompaction returns all compactions and the events after the latest end of their ranges, in whatever order they were appended.',
    async check(subject) {
      const session = await withTimes(subject, [1, 2, [3, 2], 4, 5]);
      await gives(subject, { sinceCompaction: true }, [3, 4, 5]);
      await appendTimes(subject, session, [[6, 4], 7]);
      await gives(subject, { sinceCompaction: true }, [3, 5, 6, 7]);
      await appendTimes(subject, session, [[8, 1], [9, 3.5], 10]);
      await gives(subject, { sinceCompaction: true }, [3, 5, 6, 7, 8, 9, 10]);
      await appendTimes(subject, session, [[11, 9], 12]);
      await gives(subject, { sinceCompaction: true }, [3, 6, 8, 9, 10, 11, 12]);
    },
  },
  {
    id: 'window.compaction-unordered-times',
    title: 'sinceCompaction compares the times of events, not their positions, also if the times are out of order.',
    async check(subject) {
      const session = await withTimes(subject, [9, 1, 8, [3, 5], 2, 6, 4, [0, 1], 5]);
      await gives(subject, { sinceCompaction: true }, [1, 3, 4, 6, 8]);
      await appendTimes(subject, session, [7, 5.5, 1]);
      await gives(subject, { sinceCompaction: true }, [1, 3, 4, 6, 8, 10, 11]);
    },
  },
  {
    id: 'window.compaction-outside',
    title: 'A compaction outside the other conditions of a window still limits sinceCompaction.',
    async check(subject) {
      await withTimes(subject, [1, 2, [3, 1.5], 4, 5]);
      await gives(subject, { sinceCompaction: true, afterSeq: 3 }, [4, 5]);
      await gives(subject, { sinceCompaction: true, beforeSeq: 3 }, [2]);
      await gives(subject, { sinceCompaction: true, beforeSeq: 2 }, []);
      await gives(subject, { sinceCompaction: true, afterTimestamp: 3.5 }, [4, 5]);
      await gives(subject, { sinceCompaction: true, numRecentEvents: 1 }, [5]);
    },
  },
  {
    id: 'window.every-combination',
    title: 'Every combination of window conditions returns the newest of the events that meet all of them.',
    async check(subject) {
      await everyCombination(subject, [1, 2, 3, [4, 2], 5, 6, [7, 5], 8]);
      await subject.service.deleteSession(KEY);
      await everyCombination(subject, [4, 9, [1, 3], 2, 8, [7, 6], 5, 3, 7]);
    },
  },
];

async function everyCombination(subject: Subject, times: readonly TimedEvent[]): Promise<void> {
  await withTimes(subject, times);
  for (const sinceCompaction of [false, true]) {
    for (const afterSeq of [undefined, 2, 6]) {
      for (const beforeSeq of [undefined, 5, 8]) {
        for (const afterTimestamp of [undefined, 3, 6.5]) {
          for (const numRecentEvents of [undefined, 0, 1, 3]) {
            const config: GetSessionConfig = { sinceCompaction, afterSeq, beforeSeq, afterTimestamp, numRecentEvents };
            await gives(subject, config, namesIn(times, config));
          }
        }
      }
    }
  }
}
