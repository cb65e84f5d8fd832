import { type BaseSessionService, type Event, ObjectType, type RunRecord, type SessionKey } from '@eventloom/core';
import { isReadEvent } from './frame-position.ts';
import { eventPages } from './stored-frames.ts';

/** What became of a run. */
export interface RunState {
  readonly invocationId: string;
  /**
   * `running`: under way, here or in another process, or about to be taken up. `waiting`: ended with calls that are not answered yet.
   * `completed`: came to its end. `failed`: ended with an error. `interrupted`: was cancelled, aborted or given up.
   */
  readonly state: 'running' | 'waiting' | 'completed' | 'failed' | 'interrupted';
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
    state: { enum: ['running', 'waiting', 'completed', 'failed', 'interrupted'] },
    error: { type: 'string', description: 'Why the run failed or was interrupted.' },
    code: { type: 'string', description: 'The code of the error.' },
    waitingFor: {
      type: 'array',
      items: { type: 'string' },
      description: 'The ids of the calls that a waiting run waits for.',
    },
  },
  required: ['invocationId', 'state'],
};

/** Codes of runs that did not come to their end, and did not fail. */
const INTERRUPTED: readonly string[] = ['RUN_ABORTED', 'RUN_ABANDONED', 'SHUTTING_DOWN'];

/**
 * Reads from its session what became of a run that is not under way in this process.
 * @throws SessionNotFoundError when the session is deleted meanwhile
 */
export async function readRunState(service: BaseSessionService, key: SessionKey, run: RunRecord): Promise<RunState> {
  const { invocationId, firstSeq, open } = run;
  if (open) return { invocationId, state: 'running' };
  const waiting = new Set<string>();
  let last: Event | undefined;
  for await (const { events } of eventPages(service, key, firstSeq - 1, Infinity)) {
    for (const event of events) {
      if (event.invocationId === invocationId) for (const id of event.longRunningToolIds ?? []) waiting.add(id);
      // Answers may come in runs after this one.
      for (const { functionResponse } of event.content?.parts ?? []) waiting.delete(functionResponse?.id ?? '');
      if (isReadEvent(event, invocationId)) last = event;
    }
  }
  if (last?.object === ObjectType.error) {
    const { errorMessage: error = '', errorCode: code = 'INTERNAL' } = last;
    return { invocationId, state: INTERRUPTED.includes(code) ? 'interrupted' : 'failed', error, code };
  }
  if (waiting.size > 0) return { invocationId, state: 'waiting', waitingFor: [...waiting] };
  return { invocationId, state: 'completed' };
}
