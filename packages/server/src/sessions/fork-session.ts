import {
  createEvent,
  type Event,
  type EventParams,
  EventTag,
  hasTag,
  InvalidRequestError,
  ObjectType,
  RUN_ABANDONED,
  type Session,
  SessionAlreadyExistsError,
  type SessionHeaderRecord,
  type SessionKey,
  type SessionRecord,
  SizeLimitError,
  type ToolLedgerEntry,
} from '@eventloom/core';
import {
  addUnnamedArtifacts,
  afterCovered,
  artifactsOf,
  Calls,
  closingParams,
  copyArtifacts,
  createErrorEvent,
  INTERRUPTED_BY_COPY,
  isUserArtifact,
  ledgerEntryId,
  answersToUnsettled,
  setOwn,
  stateScopeOf,
  weigh,
  type WorkQueue,
} from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import { callsToRespondTo, type CallsToRespondTo, respondTo } from '@eventloom/runner/internal';
import { CHARS_PER_SLICE } from '../http/in-slices.ts';
import { quotedName } from '../http/request-body.ts';
import { existsError } from './create-session.ts';

/** The session to copy, and the id of the copy. */
interface SessionToFork extends SessionKey {
  /** Id of the last event of the copy. */
  readonly afterEventId: string;
  /** Id of the copy; undefined for a new id that says where the copy comes from, such as `fork-first-at-3-1a2b3c4d`. */
  readonly newSessionId: string | undefined;
  /** Maximum number of characters of the copied events as JSON. */
  readonly maxChars: number;
  /** Called with the number of characters of each event that is kept in memory. Throws if the limit is exceeded. */
  readonly onRead: (chars: number) => void;
  /** Copies many sessions in slices, with other work in between. */
  readonly queue: WorkQueue;
}

/**
 * Copies a session as it was after one of its events: the events, its own state, its artifacts and its tool calls of that time. The session
 * itself and the state of the user and the app do not change; the copy sees the current values of that state.
 *
 * The events are the server's own, so requests to people and long-running calls that waited can be answered in the
 * copy. Calls that were in progress are answered with `{ error: 'interrupted' }`, and a resumable run that was in
 * progress is ended with the error `RUN_ABANDONED`. A run of which only the stored end follows had ended, and gets its
 * end without an error. A run that is not resumable gets no end: its events do not say whether it ended. A copy after a
 * response to a cancelled call also has the rest of that cancellation.
 *
 * @throws SessionNotFoundError
 * @throws InvalidRequestError if the session has no such event; nothing is created
 * @throws SessionAlreadyExistsError if the new id is in use; nothing is created
 * @throws SizeLimitError if the events are larger than `maxChars`; nothing is created
 */
export async function forkSession(runner: Runner, fork: SessionToFork): Promise<Session> {
  const { appName, sessionService, artifactService, platform } = runner;
  const { userId, sessionId } = fork;
  const from = { appName, userId, sessionId };
  const past = await readPast(runner, from, fork);
  const newSessionId = fork.newSessionId ?? forkId(sessionId, past.events.length, platform.newUuid());
  const to = { appName, userId, sessionId: newSessionId };
  const session = await sessionService
    .importSession({ records: recordsOf(past, runner, fork.queue), sessionId: newSessionId })
    .catch((error: unknown) => {
      throw SessionAlreadyExistsError.isInstance(error) ? existsError(to, error) : error;
    });
  if (!artifactService) return session;
  const artifacts = artifactsOf(past.events);
  try {
    await addUnnamedArtifacts(artifactService, artifacts, past.laterArtifacts, from);
    await copyArtifacts(artifactService, artifacts, from, to);
  } catch (error) {
    for (const filename of await artifactService.listArtifactKeys(to))
      if (!isUserArtifact(filename)) await artifactService.deleteArtifact({ ...to, filename });
    await sessionService.deleteSession(to);
    throw error;
  }
  return session;
}

/** Length of the origin's id, and of the part of a UUID, in the id of a copy, in characters. */
const ORIGIN_CHARS = 16;
const UNIQUE_CHARS = 8;

/** @param position number of the last event that is copied */
function forkId(origin: string, position: number, uuid: string): string {
  // Whole characters, because an id may have any.
  const start = Array.from(origin).slice(0, ORIGIN_CHARS).join('');
  return `fork-${start}-at-${position}-${uuid.slice(0, UNIQUE_CHARS)}`;
}

/** A session up to an event, with the data of the time after it that a copy needs. */
interface Past {
  readonly header: SessionHeaderRecord;
  readonly events: Event[];
  /** All entries of the ledger, also later ones. */
  readonly toolCalls: ToolLedgerEntry[];
  /** The invocations with later events. */
  readonly laterRuns: ReadonlySet<string>;
  /** The resumable runs of which only the end follows, and events without content that record the positions of agents. */
  readonly finishedRuns: ReadonlySet<string>;
  /** The first version of each artifact that a later event names. */
  readonly laterArtifacts: ReadonlyMap<string, number>;
}

/** Number of characters that each record counts at least: it is read or written by itself. */
const CHARS_OF_RECORD = 1024;

async function readPast(
  { sessionService }: Runner,
  key: SessionKey,
  { afterEventId, maxChars, onRead, queue }: SessionToFork,
): Promise<Past> {
  const events: Event[] = [];
  const toolCalls: ToolLedgerEntry[] = [];
  const laterRuns = new Set<string>();
  const cutRuns = new Set<string>();
  const finishedRuns = new Set<string>();
  const laterArtifacts = new Map<string, number>();
  let header: SessionHeaderRecord | undefined;
  let isLater = false;
  let chars = 0;
  let charsOfSlice = CHARS_PER_SLICE;
  for await (const record of sessionService.exportSession(key)) {
    // A store in the same process answers without a pause.
    if (charsOfSlice >= CHARS_PER_SLICE) {
      charsOfSlice = 0;
      await queue.next();
    }
    charsOfSlice += CHARS_OF_RECORD;
    if (record.type === 'session') header = record;
    else if (record.type === 'toolCall') toolCalls.push(record.toolCall);
    else if (record.type === 'event' && isLater && !isInCancellation(events.at(-1), record.event)) {
      const { event } = record;
      laterRuns.add(event.invocationId);
      if (event.content || event.errorCode) cutRuns.add(event.invocationId);
      else if (event.object === ObjectType.runnerEnd && !cutRuns.has(event.invocationId))
        finishedRuns.add(event.invocationId);
      for (const [filename, version] of artifactsOf([event]))
        if (!laterArtifacts.has(filename)) laterArtifacts.set(filename, version);
    } else if (record.type === 'event') {
      const { length } = JSON.stringify(record.event);
      chars += length;
      charsOfSlice += length;
      if (chars > maxChars)
        throw new SizeLimitError(
          `afterEventId: the events up to ${quotedName(afterEventId)} have more than ${maxChars} characters, which is the maximum of a copy (limits.maxBodyBytesInFlightPerUser)`,
        );
      onRead(length);
      events.push(record.event);
      isLater ||= record.event.id === afterEventId;
    }
  }
  if (header && isLater) return { header, events, toolCalls, laterRuns, finishedRuns, laterArtifacts };
  throw new InvalidRequestError(
    `afterEventId: the session ${quotedName(key.sessionId)} has no event ${quotedName(afterEventId)}; write the id of one of its events`,
  );
}

/** True for the event after a response to a call that was cancelled with its run: the session stores both together. */
function isInCancellation(last: Event | undefined, { invocationId }: Event): boolean {
  return last?.invocationId === invocationId && hasTag(last, EventTag.cancelled);
}

/** Yields the records of the copy. */
async function* recordsOf(past: Past, runner: Runner, queue: WorkQueue): AsyncGenerator<SessionRecord> {
  const calls = new Calls(past.events);
  const toolCalls = past.toolCalls.filter(createToolCallFilter(past, calls));
  const events = [...past.events, ...closingEvents(past, calls, runner)];
  const { header } = past;
  yield { ...header, lastUpdateTime: runner.platform.now() / 1000, state: ownState(header.initialState, past.events) };
  let chars = CHARS_PER_SLICE;
  for (const event of events) {
    if (chars >= CHARS_PER_SLICE) {
      chars = 0;
      await queue.next();
    }
    chars += CHARS_OF_RECORD + weigh(event);
    yield { type: 'event', event };
  }
  for (const toolCall of toolCalls) yield { type: 'toolCall', toolCall };
  // The store writes the session when it has all records.
  await queue.next();
  yield { type: 'end', events: events.length, toolCalls: toolCalls.length };
}

/** Returns the session's own state after these events. State of the user and the app is not part of a copy. */
function ownState(
  initialState: Readonly<Record<string, unknown>>,
  events: readonly Event[],
): Readonly<Record<string, unknown>> {
  const state: Record<string, unknown> = {};
  const set = ([key, value]: readonly [string, unknown]): void => {
    if (stateScopeOf(key) === 'session') setOwn(state, key, value);
  };
  Object.entries(initialState).forEach(set);
  for (const { actions } of events) {
    Object.entries(actions.stateDelta).forEach(set);
    for (const key of actions.removedState ?? []) delete state[key];
  }
  return state;
}

/**
 * Returns a filter for the tool calls of a copy. A run without later events keeps all of its calls. For a run with later events, the ledger
 * does not record when each entry was made, so the copy keeps calls that have a response among the copied events, and calls that wait for
 * one.
 */
function createToolCallFilter({ events, laterRuns }: Past, calls: Calls): (entry: ToolLedgerEntry) => boolean {
  const runs = new Set(events.map(({ invocationId }) => invocationId));
  const kept = new Set<string>();
  for (const call of calls.all) {
    if (call.responses.length > 0 || call.isLongRunning) kept.add(ledgerEntryId(call.event.id, call.call));
    // The call ran after this answer, and its result is among the events.
    const open = new Set(answersToUnsettled(call).map(({ event }) => event));
    for (const { event } of call.requests.flatMap(({ responses }) => responses))
      if (!open.has(event)) kept.add(ledgerEntryId(event.id, call.call));
  }
  return ({ invocationId, entryId }) => runs.has(invocationId) && (!laterRuns.has(invocationId) || kept.has(entryId));
}

/**
 * Returns the events that end calls and runs in progress: responses to calls that nobody answers any more, and the ends
 * of resumable runs that do not wait for an answer.
 */
function closingEvents(
  { events, laterRuns, finishedRuns }: Past,
  calls: Calls,
  { agent: root, appName, platform }: Runner,
): Event[] {
  const last = events.at(-1);
  let covered = -Infinity;
  const firstOf = new Map<string, Event>();
  for (const event of events) {
    covered = Math.max(covered, event.actions.compaction?.endTimestamp ?? -Infinity);
    if (!firstOf.has(event.invocationId)) firstOf.set(event.invocationId, event);
  }
  const closing: Event[] = [];
  const ended: Event[] = [];
  for (const [invocationId, first] of firstOf) {
    if (invocationId !== last?.invocationId && !laterRuns.has(invocationId)) continue;
    const params = (author: string): EventParams => ({
      ...closingParams(first, author, platform, covered),
      // The copy shows the session as it was at this time: later times would be durations of its calls and runs.
      timestamp: afterCovered(last?.timestamp ?? 0, covered),
    });
    const respond = (
      how: 'waits' | 'completed',
      left: CallsToRespondTo = callsToRespondTo(calls, { invocationId, root, how }),
    ): void => {
      for (const response of respondTo(left, { invocationId, how, params }, IN_PROGRESS)) {
        closing.push(response);
        calls.add(response);
      }
    };
    const canContinue = calls.canContinue(invocationId);
    if (canContinue) respond('waits');
    if (calls.isRunWaiting(invocationId)) {
      respond('waits', { all: new Set(calls.unfinished(invocationId)), cancelled: new Set() });
      continue;
    }
    respond('completed');
    if (!canContinue) continue;
    if (!finishedRuns.has(invocationId))
      ended.push(createErrorEvent(params(appName), RUN_ABANDONED, 'the session was copied before the run ended'));
    ended.push(createEvent({ ...params(appName), object: ObjectType.runnerEnd, actions: { endOfAgent: true } }));
  }
  return [...closing, ...ended];
}

/** The responses to calls that were in progress at the last event of a copy. The ledger does not record which calls had begun then. */
const IN_PROGRESS = {
  entries: new Map<string, ToolLedgerEntry>(),
  interrupted: INTERRUPTED_BY_COPY,
};
