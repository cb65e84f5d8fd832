import {
  type BaseAgent,
  BaseLiveRequestQueue,
  ConfigurationError,
  type Event,
  type InvocationContext,
  RunAbortedError,
} from '@eventloom/core';
import { isLlmAgent } from '@eventloom/llm-agent';
import { checkLiveAgents } from './check-live-agents.ts';
import { Patience } from './patience.ts';
import { runLive } from './run-live.ts';

/** What the application, and a model that does not answer, get when the client has hung up and there is no event. */
const GRACE_MS = 60_000;

/**
 * What a client says in a call, in the order in which it was said: `sendContent`, `sendRealtime`, `sendActivityStart` and so on, and at the
 * end `close`. One queue serves one run of `Runner.runLive`. Bounded: a send that does not fit throws LiveQueueFullError.
 */
export class LiveRequestQueue extends BaseLiveRequestQueue {
  #patience: Patience | undefined;
  /** Connections that were about to be made. */
  #attempts = 0;
  #clientDisconnected = false;

  override get clientDisconnected(): boolean {
    return this.#clientDisconnected;
  }

  override createInput(): LiveRequestQueue {
    return new LiveRequestQueue({ maxChars: this.maxChars });
  }

  override checkAgent(agent: BaseAgent, root: BaseAgent): void {
    checkLiveAgents(agent, root);
  }

  override runAgent(agent: BaseAgent, context: InvocationContext): AsyncGenerator<Event, void, void> {
    if (!isLlmAgent(agent)) throw new ConfigurationError(`agent "${agent.name}": has no model to speak with`);
    return runLive(agent, context, () => void this.#attempts++);
  }

  override async whileWaiting<T>(
    wait: (signal: AbortSignal | undefined) => Promise<T>,
    abortSignal: AbortSignal | undefined,
  ): Promise<T> {
    if (this.isClosed) return wait(abortSignal);
    const hangingUp = new AbortController();
    let isWaiting = true;
    void this.whenClosed().then(() => {
      if (!isWaiting || this.chars > 0) return;
      this.#clientDisconnected = true;
      hangingUp.abort(new DOMException('the client hung up', 'AbortError'));
    });
    try {
      return await wait(abortSignal ? AbortSignal.any([abortSignal, hangingUp.signal]) : hangingUp.signal);
    } finally {
      isWaiting = false;
    }
  }

  override async until<T>(work: Promise<T>, context: InvocationContext): Promise<T> {
    this.#patience ??= new Patience({
      context,
      queue: this,
      graceMs: GRACE_MS,
      onOver: () => (this.#clientDisconnected = true),
      countSigns: () => this.#attempts,
    });
    try {
      return await this.#patience.until(work, 'a callback, a plugin, a model or an agent of the application');
    } catch (error) {
      throw this.#clientDisconnected ? new RunAbortedError('the client hung up', { cause: error }) : error;
    }
  }
}
