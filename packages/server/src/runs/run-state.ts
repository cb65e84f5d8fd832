import {
  type BaseSessionService,
  contentText,
  createEvent,
  type Event,
  isFinalResponse,
  type Part,
  type Platform,
  type RunRecord,
  type SessionKey,
} from '@eventloom/core';
import { Calls, eventPages, isYielded, newestFirst, otherWork } from '@eventloom/core/internal';
import type { ErrorBody } from '@eventloom/core/wire';
import { readEnd, readNotBegun } from './stored-frames.ts';

/** The state of a run. */
export interface RunState {
  readonly invocationId: string;
  /**
   * `queued`: waits for its session; its message is not stored yet. `running`: active in this or another process, or
   * about to be resumed. `waiting`: waits for the answers to calls; its record in the session says `completed` (see
   * `OpenRun`). `completed`: reached its end. `failed`: ended with an error. `interrupted`: was cancelled, aborted or
   * abandoned.
   */
  readonly state: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'interrupted';
  /** The error of a run that failed or was interrupted, and its code. */
  readonly error?: string;
  readonly code?: string;
  /** The text of the answer of a run that completed: of its last final response. Absent if that has no text. */
  readonly output?: string;
  /** The ids of the calls that a waiting run waits for. */
  readonly waitingFor?: readonly string[];
}

/** The states of a run. */
const STATES = {
  queued: true,
  running: true,
  waiting: true,
  completed: true,
  failed: true,
  interrupted: true,
} satisfies Record<RunState['state'], true>;

/** The JSON Schema of a run's state. */
export const RUN_STATE_SCHEMA = {
  type: 'object',
  properties: {
    invocationId: { type: 'string' },
    state: { enum: Object.keys(STATES) },
    error: { type: 'string', description: 'The reason why the run failed or was interrupted.' },
    code: { type: 'string', description: 'The code of the error.' },
    output: { type: 'string', description: 'The text of the answer of a run that completed.' },
    waitingFor: {
      type: 'array',
      items: { type: 'string' },
      description: 'The ids of the calls that a waiting run waits for.',
    },
  } satisfies Record<keyof RunState, object>,
  required: ['invocationId', 'state'],
};

/**
 * Reads the state of a run that is not active in this process from its session.
 *
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
export async function readRunState(
  service: BaseSessionService,
  platform: Pick<Platform, 'schedule'>,
  key: SessionKey,
  run: RunRecord,
): Promise<RunState> {
  const { invocationId, open } = run;
  if (open) return { invocationId, state: (await readNotBegun(service, key, run)) ? 'queued' : 'running' };
  const { outcome, frame } = await readEnd(service, key, run);
  const { ids, isEndUndone, output } = await readWaitingCalls(service, platform, key, run);
  if (frame && !isEndUndone) return { invocationId, state: outcome.state, ...(JSON.parse(frame.json) as ErrorBody) };
  if (ids.length > 0) return { invocationId, state: 'waiting', waitingFor: ids };
  return { invocationId, state: 'completed', ...(output !== '' && { output }) };
}

/** The calls that a run waits for, with the rewinds of its session applied. */
interface WaitingCalls {
  readonly ids: readonly string[];
  /** True if a rewind undid the end of the run and not the whole run, so that its recorded outcome no longer counts. */
  readonly isEndUndone: boolean;
  /** The text of the last final response of the run, rewinds not applied; empty if there is none. */
  readonly output: string;
}

/**
 * Reads the calls that a run waits for from its session. Later runs may have answered them, and a rewind may have
 * undone the answers, the end of the run, the run itself, or another rewind. The rest of the session is therefore read,
 * page by page, with other work in between; only the ids of its calls and of its invocations are kept.
 *
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
export async function readWaitingCalls(
  service: BaseSessionService,
  platform: Pick<Platform, 'schedule'>,
  key: SessionKey,
  run: RunRecord,
): Promise<WaitingCalls> {
  const { invocationId, firstSeq, end } = run;
  const lastSeq = end?.lastSeq ?? Infinity;
  const isOwn = (event: Event): boolean => event.invocationId === invocationId;
  const events: Event[] = [];
  const invocations = new Set<string>();
  let hasWaited = false;
  let answer: Event | undefined;
  for await (const page of eventPages(service, key, { afterSeq: firstSeq - 1 })) {
    for (const [index, event] of page.events.entries()) {
      if (isOwn(event) && page.seq + index <= lastSeq && isYielded(event) && isFinalResponse(event)) answer = event;
      hasWaited ||= isOwn(event) && event.longRunningToolIds !== undefined;
      const isNew = invocations.size < invocations.add(event.invocationId).size;
      const small = withoutContent(event, run);
      if (isNew || isOwn(event) || small.content || small.actions.rewindBeforeInvocationId !== undefined)
        events.push(small);
    }
    // A rewind may undo an answer at any time, but a run that made no long-running calls never waits.
    if (page.seq + page.events.length > lastSeq && !hasWaited) break;
    await otherWork(platform);
  }
  const ids = new Calls(events).waiting.filter(({ event }) => isOwn(event)).map(({ id }) => id);
  const last = [...newestFirst(events)].find(isOwn);
  return {
    ids: [...new Set(ids)],
    isEndUndone: last !== undefined && last !== events.findLast(isOwn),
    output: contentText(answer?.content),
  };
}

/**
 * Returns an event without what does not decide which calls wait. Events before the run are not read, so a rewind to one of them becomes a
 * rewind to the run itself.
 */
function withoutContent(event: Event, { invocationId, firstSeq }: RunRecord): Event {
  const { id, author, timestamp, branch, isolationScope, longRunningToolIds, actions } = event;
  const parts = event.content?.parts?.flatMap(withoutValues) ?? [];
  const { rewindBeforeInvocationId: target, history } = actions;
  const rewind = target && { rewindBeforeInvocationId: (history?.rewoundFrom ?? 0) < firstSeq ? invocationId : target };
  return createEvent({
    id,
    author,
    timestamp,
    invocationId: event.invocationId,
    ...(branch !== undefined && { branch }),
    ...(isolationScope !== undefined && { isolationScope }),
    ...(longRunningToolIds && { longRunningToolIds }),
    ...(parts.length > 0 && { content: { parts } }),
    actions: { ...rewind },
  });
}

/** Returns a call or a response without its values; an empty list for any other part. */
function withoutValues({ functionCall, functionResponse }: Part): Part[] {
  if (functionCall) {
    const { args: _args, partialArgs: _partialArgs, ...call } = functionCall;
    return [{ functionCall: call }];
  }
  if (!functionResponse) return [];
  const { response: _response, parts: _parts, ...response } = functionResponse;
  return [{ functionResponse: response }];
}
