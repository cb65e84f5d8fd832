import { enclosureOf } from './branch.ts';
import { EventTag, hasTag } from './event-tags.ts';
import type { Event } from './event.ts';
import { isFailure } from './event-predicates.ts';
import { type EventloomError, ModelError, RunAbortedError, StoredError } from '../errors.ts';
import type { RunOutcome } from '../session/open-run.ts';

/** The `errorCode` of the event that ends an abandoned run: see `Runner.closeRun`. */
export const RUN_ABANDONED = 'RUN_ABANDONED';

/**
 * The keys under which the runner stores facts about a run in the `agentState` of the user's events. In the events of agents the same field
 * holds their checkpoints, under keys of their own.
 */
export const RunMark = {
  /** True in the message that began a resumable run. */
  resumable: 'resumable',
  /** In the message that began a resumable run: the options that are in force when the run is resumed. */
  runConfig: 'runConfig',
  /** Names of all agents of the tree, in the message that began a resumable run of several agents. */
  agents: 'agents',
  /** True in a message that continues a run, and did not begin it. */
  continues: 'continues',
  /** True in a message that a plugin replaced: a repeated request cannot be compared with it. */
  isReplaced: 'isReplaced',
} as const;

/**
 * True for the message event that began a resumable run. The run can continue until it has an event with the object
 * `runner.end`: see `OpenRun`. False for an imported event.
 */
export function beginsResumableRun(event: Event): boolean {
  const { author, actions } = event;
  return author === 'user' && actions?.agentState?.[RunMark.resumable] === true && !hasTag(event, EventTag.imported);
}

/**
 * True when `events`, the newest of a session in order, include the message that began the run. A message that only continues a run has
 * the mark `RunMark.continues`.
 */
export function hasBeginOfRun(events: readonly Event[], invocationId: string): boolean {
  const first = events.find((event) => event.invocationId === invocationId);
  // The request to an agent that runs as a tool or a node is a user event too, inside an enclosed branch.
  return first?.author === 'user' && enclosureOf(first.branch) === '' && !first.actions.agentState?.[RunMark.continues];
}

/** Codes of runs that were interrupted, which is neither a success nor a failure. */
const INTERRUPTED: readonly string[] = ['RUN_ABORTED', RUN_ABANDONED, 'SHUTTING_DOWN'];

/** Creates the outcome of a run that ended with an error of this code. */
export function errorOutcome(code: string): RunOutcome {
  return { state: INTERRUPTED.includes(code) ? 'interrupted' : 'failed', code };
}

/**
 * Returns the outcome of a run from its last event, for a run without a recorded outcome. A reply that the model ended early, with
 * its own finish reason, is not a failure.
 */
export function outcomeOfEvent(last: Event | undefined): RunOutcome {
  if (!last || !isFailure(last) || last.finishReason !== undefined) return { state: 'completed' };
  return errorOutcome(last.errorCode ?? 'INTERNAL');
}

/**
 * Creates the error that a stored error event was made of: `isInstance` of its class is true for it, because it has the
 * code of the class. An event without a code is one of a model.
 */
export function errorOfEvent({ error, errorCode = '', errorMessage = '' }: Event): EventloomError {
  const code = error?.code ?? error?.type ?? ModelError.code;
  if (code === ModelError.code) return new ModelError(errorMessage, { errorCode: errorCode || 'MODEL_ERROR' });
  if (code === RunAbortedError.code) return new RunAbortedError(errorMessage);
  return new StoredError(errorMessage, code);
}
