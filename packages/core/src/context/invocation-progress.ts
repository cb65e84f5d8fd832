import { RUN_CONFIG_DEFAULTS } from '../agent/run-config.ts';
import { HandOverLimitError, LlmCallLimitError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import type { InvocationContext } from './invocation-context.ts';

/** Number of agents that start without a model call between them before the run yields to the event loop. */
const STARTS_PER_TURN = 64;

/** A reply that is being streamed. */
export interface ReplyInProgress {
  /** The `responseId` of its chunks. */
  readonly responseId: string | undefined;
  /** Creates the event of the reply as far as it was received, without calls. */
  toBrokenEvent(): Event;
}

/**
 * Progress of an invocation, or of a sub-invocation in it: one object that all of its contexts share.
 *
 * | what                                        | counts for                      | is noted by                        | is used by                          |
 * | ------------------------------------------- | ------------------------------- | ---------------------------------- | ----------------------------------- |
 * | `ended`, `endsItself`                       | the invocation or sub-invocation | contexts; live agents              | agents, and their driver            |
 * | `markReported`, `noteFailure`               | the invocation or sub-invocation | the agent that failed, its driver  | the runner, for the error event     |
 * | `noteTransfer`                              | the invocation or sub-invocation | the committer; the driver of a resumed run | the driver                  |
 * | `countLlmCall`, `checkHandOvers`            | the whole run                   | agents; the driver                 | the limits of `RunConfig`           |
 * | `shouldYieldToEventLoop`                    | the whole run                   | the driver                         | the driver                          |
 * | `noteCommitted`                             | the whole run                   | committers of sub-invocations      | agents and committers around them   |
 * | `run.openReplies`                           | the whole run                   | agents that stream replies         | the runner, if the run is aborted     |
 */
export class InvocationProgress {
  /** The progress of the whole run. It counts the model calls of sub-invocations as well. */
  readonly run: InvocationProgress;
  /** The replies that are being streamed, in the order in which they began; undefined before the first. */
  openReplies: Set<ReplyInProgress> | undefined = undefined;
  ended = false;
  /** True while a live agent runs. After the invocation is ended it stops by itself, once its tool calls have settled. */
  endsItself = false;
  /** Maximum number of model calls, and of transfers in a row without one; 0 or below means no limit. */
  readonly #maxLlmCalls: number;
  #llmCalls: number;
  /** Number of agents that were started since the last model call. */
  #starts = 0;
  #committed: WeakSet<Event> | undefined;
  /** The error that an event of the stream reports already. */
  #reportedError: unknown = undefined;
  #failure: { readonly error: unknown; readonly context: InvocationContext } | undefined;
  /** Transfer targets of executions, by execution id. */
  #transfers: Map<string, string> | undefined;

  /**
   * @param maxLlmCalls see `RunConfig.maxLlmCalls`
   * @param llmCalls number of model calls that were made before the invocation was resumed
   * @param run progress of the run that a sub-invocation belongs to
   */
  constructor(maxLlmCalls: number = RUN_CONFIG_DEFAULTS.maxLlmCalls, llmCalls = 0, run?: InvocationProgress) {
    this.#maxLlmCalls = maxLlmCalls;
    this.#llmCalls = llmCalls;
    this.run = run ? run.run : this;
  }

  /** Number of model calls so far, including those of sub-invocations. */
  get llmCalls(): number {
    return this.run.#llmCalls;
  }

  /** Counts a model call. @throws LlmCallLimitError if `runConfig.maxLlmCalls` calls were made already */
  countLlmCall(): void {
    const run = this.run;
    const limit = run.#maxLlmCalls;
    if (limit > 0 && run.#llmCalls >= limit) {
      throw new LlmCallLimitError(
        `the run made ${limit} model calls, which is its limit; raise runConfig.maxLlmCalls, and limits.maxLlmCalls of a server, if it needs more`,
      );
    }
    run.#llmCalls++;
    run.#starts = 0;
  }

  /**
   * Checks the number of transfers between agents since the last model call. The limit is the one of model calls.
   * @throws HandOverLimitError if `count` exceeds the limit
   */
  checkHandOvers(count: number): void {
    const limit = this.run.#maxLlmCalls;
    if (limit <= 0 || count <= limit) return;
    throw new HandOverLimitError(
      `agents transferred control ${limit} times in a row without a model call; raise runConfig.maxLlmCalls, and limits.maxLlmCalls of a server, if it needs more`,
    );
  }

  /**
   * Counts the start of an agent. Returns true if the run should yield to the event loop first: a run that never waits for
   * I/O would block the process, and no abort could reach it. Runs with model calls wait often enough.
   */
  shouldYieldToEventLoop(): boolean {
    const run = this.run;
    if (++run.#starts < STARTS_PER_TURN) return false;
    run.#starts = 0;
    return true;
  }

  /** Notes that an event for this error was yielded, so that the runner adds none. */
  markReported(error: unknown): void {
    this.#reportedError = error;
  }

  /** True if an event for this error was yielded already. */
  isReported(error: unknown): boolean {
    return error !== undefined && this.#reportedError === error;
  }

  /**
   * Notes the agent that failed with an error. Each agent around it reports the same error; the first report, from the
   * innermost agent, counts.
   */
  noteFailure(error: unknown, context: InvocationContext): void {
    if (this.#failure?.error !== error) this.#failure = { error, context };
  }

  /** Returns the context of the agent that failed with this error; undefined if it is not known. */
  failedAt(error: unknown): InvocationContext | undefined {
    return this.#failure?.error === error ? this.#failure?.context : undefined;
  }

  /** Notes a committed event of a sub-invocation, or an event derived from one. */
  noteCommitted(event: Event): void {
    (this.run.#committed ??= new WeakSet()).add(event);
  }

  /** True for an event that was committed within a sub-invocation. Agents that get it pass it on unchanged. */
  isCommitted(event: Event): boolean {
    return this.run.#committed?.has(event) === true;
  }

  /** Notes the transfer target of an execution when its event is committed, or read again in a resumed run. */
  noteTransfer({ actions, executionId }: Event): void {
    if (actions.transferToAgent === undefined || executionId === undefined) return;
    (this.#transfers ??= new Map()).set(executionId, actions.transferToAgent);
  }

  /** Returns the agent that an ended execution transfers to by its committed events; only once. */
  takeTransfer(executionId: string): string | undefined {
    const target = this.#transfers?.get(executionId);
    if (target !== undefined) this.#transfers?.delete(executionId);
    return target;
  }
}
