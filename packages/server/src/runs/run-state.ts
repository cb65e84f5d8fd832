import type { BaseSessionService, Event, RunRecord, SessionKey } from '@eventloom/core';
import { Calls, type SessionCall } from '@eventloom/core/internal';
import type { ErrorBody } from '@eventloom/core/wire';
import { eventPages, readEnd } from './stored-frames.ts';

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
  /** The ids of the calls that a waiting run waits for. */
  readonly waitingFor?: readonly string[];
}

/** The JSON Schema of a run's state. */
export const RUN_STATE_SCHEMA = {
  type: 'object',
  properties: {
    invocationId: { type: 'string' },
    state: { enum: ['queued', 'running', 'waiting', 'completed', 'failed', 'interrupted'] },
    error: { type: 'string', description: 'The reason why the run failed or was interrupted.' },
    code: { type: 'string', description: 'The code of the error.' },
    waitingFor: {
      type: 'array',
      items: { type: 'string' },
      description: 'The ids of the calls that a waiting run waits for.',
    },
  },
  required: ['invocationId', 'state'],
};

/**
 * Reads the state of a run that is not active in this process from its session.
 *
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
export async function readRunState(service: BaseSessionService, key: SessionKey, run: RunRecord): Promise<RunState> {
  const { invocationId, open } = run;
  if (open) return { invocationId, state: 'running' };
  const { outcome, frame } = await readEnd(service, key, run);
  if (frame) return { invocationId, state: outcome.state, ...(JSON.parse(frame.json) as ErrorBody) };
  const waitingFor = await readWaitingCalls(service, key, run);
  return waitingFor.length > 0 ? { invocationId, state: 'waiting', waitingFor } : { invocationId, state: 'completed' };
}

/**
 * Reads the ids of the calls that a run waits for from its session.
 *
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
export async function readWaitingCalls(
  service: BaseSessionService,
  key: SessionKey,
  { invocationId, firstSeq, end }: RunRecord,
): Promise<readonly string[]> {
  const lastSeq = end?.lastSeq ?? Infinity;
  const isWaiting = (call: SessionCall): boolean =>
    call.event.invocationId === invocationId && calls.lacksResponse(call);
  let calls = new Calls();
  let read: { readonly seq: number; readonly event: Event }[] = [];
  // The answers may be in later runs, and a rewind may undo them, or the run itself.
  for await (const page of eventPages(service, key, firstSeq - 1, Infinity)) {
    for (const [index, event] of page.events.entries()) {
      const { rewindBeforeInvocationId, history } = event.actions;
      if (rewindBeforeInvocationId === undefined) {
        calls.add(event);
        if (calls.madeIn(event).length + calls.answeredIn(event).length > 0)
          read.push({ seq: page.seq + index, event });
      } else {
        const rewoundFrom = history?.rewoundFrom ?? firstSeq;
        read = read.filter(({ seq }) => seq < rewoundFrom);
        calls = new Calls(read.map((each) => each.event));
      }
    }
    if (page.seq + page.events.length > lastSeq && !calls.all.some(isWaiting)) break;
  }
  return [...new Set(calls.all.filter(isWaiting).map(({ id }) => id))];
}
