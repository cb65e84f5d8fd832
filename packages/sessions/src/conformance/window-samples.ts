import type { Event, GetSessionConfig, Session } from '@eventloom/core';
import type { Subject } from './session-rule.ts';
import { idsOf, KEY, readSession, sampleEvent } from './samples.ts';

/** An event by its timestamp. With a second number, a compaction that covers everything up to that time. */
export type TimedEvent = number | readonly [timestamp: number, covered: number];

/** Returns the event with this id. */
export function timedEvent(id: string, timed: TimedEvent): Event {
  if (typeof timed === 'number') return sampleEvent(id, { timestamp: timed });
  const [timestamp, endTimestamp] = timed;
  const compactedContent = { role: 'model', parts: [{ text: `the summary until ${endTimestamp}` }] };
  return sampleEvent(id, {
    timestamp,
    actions: { compaction: { startTimestamp: Math.min(0, endTimestamp), endTimestamp, compactedContent } },
  });
}

/** Creates a session whose events have the ids 1, 2, 3 and so on. */
export async function withTimes({ service }: Subject, times: readonly TimedEvent[]): Promise<Session> {
  const session = await service.createSession(KEY);
  await appendTimes({ service }, session, times);
  return session;
}

/** Appends further events; their ids continue the numbering. */
export async function appendTimes(
  { service }: Pick<Subject, 'service'>,
  session: Session,
  times: readonly TimedEvent[],
): Promise<void> {
  for (const timed of times) {
    await service.appendEvent({ session, event: timedEvent(String(session.lastSeq + 1), timed) });
  }
}

/** Expects that a read with this window returns the events with these ids. */
export async function gives(subject: Subject, config: GetSessionConfig, expected: readonly number[]): Promise<void> {
  const session = await readSession(subject, KEY, config);
  subject.expect.same(`the events with ${JSON.stringify(config)}`, idsOf(session).map(Number), expected);
}

/** Returns the ids of the events that a window selects by its definition. */
export function namesIn(times: readonly TimedEvent[], config: GetSessionConfig): number[] {
  const { numRecentEvents = Infinity, afterTimestamp = -Infinity, afterSeq = 0, beforeSeq = Infinity } = config;
  const ends = times.flatMap((timed) => (typeof timed === 'number' ? [] : [timed[1]]));
  const covered = config.sinceCompaction && ends.length > 0 ? Math.max(...ends) : -Infinity;
  const names = times.flatMap((timed, index) => {
    const [timestamp, isCompaction] = typeof timed === 'number' ? [timed, false] : [timed[0], true];
    const seq = index + 1;
    const counts = isCompaction || timestamp > covered;
    return counts && timestamp >= afterTimestamp && seq > afterSeq && seq < beforeSeq ? [seq] : [];
  });
  return names.slice(Math.max(0, names.length - numRecentEvents));
}
