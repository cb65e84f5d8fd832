import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client';
import type { Platform, ToolContext } from '@eventloom/core';
import type { Questions } from './elicitation.ts';

/** A tool call that waits for the server's answer. */
export interface ActiveCall {
  readonly toolContext: ToolContext;
  readonly questions: Questions;
  /** Abandons the call because the person has to answer a question first. */
  readonly interrupt: () => void;
  /**
   * True if the server asked the person a question while several calls were active, so that it is unclear which call the question belongs
   * to.
   */
  isUnclear: boolean;
}

/** A server's request that waits until it is clear which call it belongs to. */
interface HeldRequest {
  resolve(call: ActiveCall | undefined): void;
}

/**
 * The active calls of a connection. Servers of revisions before 2026-07-28 do not say which call a request of theirs belongs to. A question
 * to the person is held until only one call is active. If all active calls wait for such questions, none of the questions is asked.
 */
export class ActiveCalls {
  readonly #calls = new Set<ActiveCall>();
  readonly #held = new Set<HeldRequest>();

  /** Runs the work of a call, which counts as active meanwhile. */
  async during<T>(call: ActiveCall, work: () => Promise<T>): Promise<T> {
    this.#calls.add(call);
    try {
      return await work();
    } finally {
      this.#calls.delete(call);
      this.#settle();
    }
  }

  /** Returns the call whose model answers a request: the oldest call if all belong to the same run, otherwise undefined. */
  get sampling(): ActiveCall | undefined {
    const [first, ...others] = this.#calls;
    const isOfRun = ({ toolContext }: ActiveCall): boolean =>
      toolContext.invocationId === first?.toolContext.invocationId;
    return others.every(isOfRun) ? first : undefined;
  }

  /**
   * Answers a question to the person. If the person has to be asked first, the call is abandoned, and the server gets no answer. The server
   * gets `cancel` if it is unclear which call the question belongs to.
   * @param signal fires when the server no longer waits for the answer
   */
  async answerTo(params: ElicitRequestParams, signal: AbortSignal, platform: Platform): Promise<ElicitResult> {
    const { promise, resolve } = Promise.withResolvers<ActiveCall | undefined>();
    this.#held.add({ resolve });
    this.#settle();
    const call = await promise;
    if (!call) return { action: 'cancel' };
    const answer = await call.questions.answerTo(params);
    if (answer) return answer;
    call.interrupt();
    await abandoned(signal, platform);
    return { action: 'cancel' };
  }

  #settle(): void {
    if (this.#calls.size > 1 && this.#held.size < this.#calls.size) return;
    const [only] = this.#calls.size === 1 ? this.#calls : [];
    if (!only && this.#held.size > 0) for (const call of this.#calls) call.isUnclear = true;
    for (const held of this.#held) held.resolve(only);
    this.#held.clear();
  }
}

/** Time that a server has to stop waiting for an answer after its call was abandoned, in milliseconds. */
const ABANDON_MS = 5000;

async function abandoned(signal: AbortSignal, platform: Platform): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = platform.schedule(ABANDON_MS, resolve, { idle: true });
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  await promise;
  cancel();
}
