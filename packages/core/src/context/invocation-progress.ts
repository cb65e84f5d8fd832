import { HandOverLimitError, LlmCallLimitError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import type { InvocationContext } from './invocation-context.ts';

/** Agents that are started in a row, without a model call, before the event loop has its turn. */
const STARTS_PER_TURN = 64;

/** Progress of an invocation, or of a sub-invocation in it: one object that all of its contexts share. */
export class InvocationProgress {
  ended = false;
  /** True while something runs that ends by itself once the invocation is ended: a live agent, whose calls come to their ends first. */
  endsItself = false;
  /** The error that an event of the stream already tells of. */
  reportedError: unknown = undefined;
  /** The progress of the run, which counts for its sub-invocations too. */
  readonly #run: InvocationProgress;
  #llmCalls: number;
  /** Agents that were started since a model was asked. */
  #starts = 0;
  #committed: WeakSet<Event> | undefined;
  #failure: { readonly error: unknown; readonly context: InvocationContext } | undefined;
  /** Transfer targets of executions, by execution id. */
  #transfers: Map<string, string> | undefined;

  /**
   * @param llmCalls those that were made before, when the invocation is resumed
   * @param run of which the invocation is a part, for a sub-invocation
   */
  constructor(llmCalls = 0, run?: InvocationProgress) {
    this.#llmCalls = llmCalls;
    this.#run = run ? run.#run : this;
  }

  /** Model calls so far, those of sub-invocations included. */
  get llmCalls(): number {
    return this.#run.#llmCalls;
  }

  /** Counts a model call; a limit of 0 and below is none. @throws LlmCallLimitError when it is one too many */
  countLlmCall(limit: number): void {
    const run = this.#run;
    if (limit > 0 && run.#llmCalls >= limit) {
      throw new LlmCallLimitError(
        `the run made ${limit} model calls, which is its limit; raise runConfig.maxLlmCalls if it needs more`,
      );
    }
    run.#llmCalls++;
    run.#starts = 0;
  }

  /**
   * Checks how often agents handed over in a row and asked no model: as often as there may be model calls; a limit of 0 and below
   * is none.
   * @throws HandOverLimitError when it is once too often
   */
  checkHandOvers(count: number, limit: number): void {
    if (limit <= 0 || count <= limit) return;
    throw new HandOverLimitError(
      `agents transferred control ${limit} times in a row without a model call; raise runConfig.maxLlmCalls if it needs more`,
    );
  }

  /**
   * Counts an agent that is started; true when the event loop is to have a turn first. Work that waits for nothing in the world
   * outside would let nothing else of the process go on, an abort included. Work that asks models waits often enough.
   */
  isTurnDue(): boolean {
    const run = this.#run;
    if (++run.#starts < STARTS_PER_TURN) return false;
    run.#starts = 0;
    return true;
  }

  /** Notes whose error this is. Those who run an agent that fails all hear of it, the innermost first: it is that one's. */
  noteFailure(error: unknown, context: InvocationContext): void {
    if (this.#failure?.error !== error) this.#failure = { error, context };
  }

  /** The context of the agent that failed with this error, as far as it is known. */
  failedAt(error: unknown): InvocationContext | undefined {
    return this.#failure?.error === error ? this.#failure?.context : undefined;
  }

  /** Notes an event of a sub-invocation that is complete and committed, or made of one. */
  noteCommitted(event: Event): void {
    (this.#run.#committed ??= new WeakSet()).add(event);
  }

  /** True for an event that was committed within a sub-invocation. Agents that get it pass it on unchanged. */
  isCommitted(event: Event): boolean {
    return this.#run.#committed?.has(event) === true;
  }

  /** Notes whom an execution hands over to, when its event is committed. */
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
