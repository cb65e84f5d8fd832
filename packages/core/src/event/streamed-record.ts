import { readWithoutState } from '../session/read-newest.ts';
import type { BaseSessionService } from '../session/session-service.ts';
import type { SessionKey } from '../session/session-key.ts';
import { enclosureOf } from './branch.ts';
import type { EventParams } from './create-event.ts';
import { type Event, ObjectType } from './event.ts';

/**
 * The stored record that a run yielded an event of a sub-invocation. Such an event is stored on the branch of its call
 * before its caller decides whether and when the run yields it. So its place in the stream is that of the record, which
 * is stored right before the event is yielded.
 */
interface StreamedRecord {
  /** The id of the event. */
  readonly id: string;
  /** The sequence number of the event in the session. */
  readonly seq: number;
  /** True if the event was yielded without its text: see `withoutText`. */
  readonly isTextless: boolean;
}

/**
 * True if the run yielded the event at the position at which it is stored. False for messages of the user, compactions, records of the
 * runner and events of sub-invocations; the position of the last is that of their record: see `StreamedRecord`.
 */
export function isYielded({ author, branch, actions, object }: Event): boolean {
  if (author === 'user' || enclosureOf(branch) !== '' || actions.compaction) return false;
  return object !== ObjectType.runnerEnd && object !== ObjectType.runnerStreamed;
}

/** Creates the fields of the event that holds a record. */
export function toStreamedRecord({ id, seq, isTextless }: StreamedRecord): EventParams {
  const agentState = { streamed: id, seq, ...(isTextless ? { textless: true } : {}) };
  return { object: ObjectType.runnerStreamed, actions: { agentState } };
}

/** Returns the record that an event of the runner holds; undefined for all other events. */
export function streamedRecordOf({ object, actions: { agentState } }: Event): StreamedRecord | undefined {
  if (object !== ObjectType.runnerStreamed) return undefined;
  const { streamed, seq, textless } = agentState ?? {};
  if (typeof streamed !== 'string' || typeof seq !== 'number') return undefined;
  return { id: streamed, seq, isTextless: textless === true };
}

/**
 * Returns the event that a run yielded, by the event that records it. Undefined if the session does not have it, as in a session that
 * a client made.
 * @param recording the event that holds the record
 * @param stored the event with the id of the record
 */
export function toStreamed({ isTextless }: StreamedRecord, recording: Event, stored: Event): Event | undefined {
  if (stored.invocationId !== recording.invocationId || stored.author === 'user') return undefined;
  return isTextless ? withoutText(stored) : stored;
}

/**
 * Reads the event that a run yielded: from the given events, or from the session.
 * @param near consecutive events of the session
 * @param nearSeq the sequence number of the first of them
 */
export async function readStreamed(
  service: Pick<BaseSessionService, 'getSession' | 'getWithoutState'>,
  key: SessionKey,
  recording: Event,
  near: readonly Event[],
  nearSeq: number,
): Promise<Event | undefined> {
  const record = streamedRecordOf(recording);
  if (!record) return undefined;
  const { id, seq } = record;
  let stored = near[seq - nearSeq];
  if (!stored) {
    const request = { ...key, config: { afterSeq: seq - 1, beforeSeq: seq + 1 } };
    const session = await readWithoutState(service, request);
    stored = session?.events[0];
  }
  return stored?.id === id ? toStreamed(record, recording, stored) : undefined;
}

/** Returns the event without its text parts, and without content if it has no others. */
export function withoutText(event: Event): Event {
  const { content, ...others } = event;
  const parts = content?.parts?.filter(({ text }) => text === undefined) ?? [];
  return parts.length > 0 ? { ...others, content: { ...content, parts } } : others;
}
