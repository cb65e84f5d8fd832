import { LlmCallLimitError } from '../errors/llm-call-limit-error.ts';
import type { Event } from '../event/event.ts';

/** How far an invocation, or a sub-invocation in it, has come: one object for all of its contexts. */
export class InvocationProgress {
  ended = false;
  /** The error that an event of the stream already tells of. */
  reportedError: unknown = undefined;
  /** Shared with the sub-invocations. */
  readonly #llmCalls: { count: number };
  /** Whom executions hand over to, by execution id. */
  #transfers: Map<string, string> | undefined;

  /** @param llmCalls those that were made before, when the invocation is resumed */
  constructor(llmCalls: { count: number } = { count: 0 }) {
    this.#llmCalls = llmCalls;
  }

  /** The progress of a sub-invocation. */
  ofPart(): InvocationProgress {
    return new InvocationProgress(this.#llmCalls);
  }

  /** Counts a model call; a limit of 0 and below is none. @throws LlmCallLimitError when it is one too many */
  countLlmCall(limit: number): void {
    if (limit > 0 && this.#llmCalls.count >= limit) {
      throw new LlmCallLimitError(
        `the run used up its ${limit} model calls; raise runConfig.maxLlmCalls if it needs more`,
      );
    }
    this.#llmCalls.count++;
  }

  /** Notes whom an execution hands over to, when its event is committed. */
  noteTransfer({ actions, executionId }: Event): void {
    if (actions.transferToAgent === undefined || executionId === undefined) return;
    (this.#transfers ??= new Map()).set(executionId, actions.transferToAgent);
  }

  /** Whom an execution that is done hands over to by its committed events; told once. */
  takeTransfer(executionId: string): string | undefined {
    const target = this.#transfers?.get(executionId);
    if (target !== undefined) this.#transfers?.delete(executionId);
    return target;
  }
}
