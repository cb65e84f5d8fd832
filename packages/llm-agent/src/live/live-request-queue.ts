import {
  type BaseAgent,
  BaseLiveRequestQueue,
  ConfigurationError,
  type Event,
  type InvocationContext,
  RunAbortedError,
} from '@eventloom/core';
import { isLlmAgent } from '../is-llm-agent.ts';
import { checkLiveAgents } from './check-live-agents.ts';
import { Patience } from './patience.ts';
import { runLive } from './run-live.ts';

/**
 * What a client says in a call, in the order in which it was said: `sendContent`, `sendRealtime`, `sendActivityStart` and so on, and at the
 * end `close`. One queue serves one run of `Runner.runLive`. Bounded: a send that does not fit throws LiveQueueFullError.
 */
export class LiveRequestQueue extends BaseLiveRequestQueue {
  #patience: Patience | undefined;
  #isSpeaking = false;
  #isLetGo = false;

  override get isLetGo(): boolean {
    return this.#isLetGo;
  }

  override createInput(): LiveRequestQueue {
    return new LiveRequestQueue({ maxChars: this.maxChars });
  }

  override checkAgent(agent: BaseAgent, root: BaseAgent): void {
    checkLiveAgents(agent, root);
  }

  override runAgent(agent: BaseAgent, context: InvocationContext): AsyncGenerator<Event, void, void> {
    if (!isLlmAgent(agent)) throw new ConfigurationError(`agent "${agent.name}": has no model to speak with`);
    return runLive(agent, context, (isSpeaking) => (this.#isSpeaking = isSpeaking));
  }

  override async until<T>(work: Promise<T>, context: InvocationContext): Promise<T> {
    this.#patience ??= new Patience({
      context,
      queue: this,
      onOver: () => (this.#isLetGo = true),
      isSpeaking: () => this.#isSpeaking,
    });
    try {
      return await this.#patience.until(work);
    } catch (error) {
      throw this.#isLetGo ? new RunAbortedError('the client hung up', { cause: error }) : error;
    }
  }
}
