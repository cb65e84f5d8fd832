import type { BaseAgent } from '../agent/base-agent.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import type { Event } from '../event/event.ts';
import type { Platform } from '../platform/platform.ts';

/** The live side of a run: decides how agents run live, how long the run waits for a client that left, and which events are stored. */
export interface LiveRun {
  /** True once the client left and the run stopped waiting for something that did not settle. Such a run ends without an error. */
  readonly clientDisconnected: boolean;

  /**
   * Checks that an agent, and every agent that it may transfer to, can run live.
   *
   * @param root the top of the tree that is run
   * @throws ConfigurationError
   */
  checkAgent(agent: BaseAgent, root: BaseAgent): void;

  /** Waits for the session. Gives up when the client leaves meanwhile and has sent nothing. */
  whileWaiting<T>(
    wait: (signal: AbortSignal | undefined) => Promise<T>,
    abortSignal: AbortSignal | undefined,
  ): Promise<T>;

  /** Waits for application code as `context.untilAborted` does, and for a minute at most once the client has left. */
  until<T>(work: Promise<T>, context: InvocationContext): Promise<T>;

  /** True for an event that is streamed and never stored: raw media, and resumption handles of the model service. */
  isOnlyStreamed(event: Event): boolean;

  /** Resolves when the words that were said so far are stored, or after two seconds, because another run takes the session. */
  yieldSession(platform: Platform): Promise<void>;

  /** Tells the client that nobody listens any more. Called once, when the run has ended. */
  close(): void;
}
