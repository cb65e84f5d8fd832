import type { BaseAgent } from '../agent/base-agent.ts';
import type { Content } from '../content/content.ts';
import type { Event } from '../event/event.ts';
import type { AbortGuard } from './abort-guard.ts';

/** Does the work, a commit, when it is the caller's turn, and hands back what came of it. */
export type InTurn = <T>(commit: () => Promise<T>) => Promise<T>;

/** An agent to be run as a world of its own within an invocation: a tool that is an agent, say. */
export interface SubInvocation {
  /** The top of the tree that is run: hand-overs stay at it and below. */
  readonly agent: BaseAgent;
  /** The message to the agent. */
  readonly userContent: Content;
  /** Tells several sub-invocations of one agent apart: the id of the call. */
  readonly callId: string;
  /** True if chunks are wanted when the run streams. */
  readonly streaming: boolean;
  /** Told of the events that are stored already, when a call that was cut off goes on. */
  readonly onRecorded?: ((event: Event) => void) | undefined;
  /** Told when the agent waits, in a run that can be resumed, for an answer that comes in a later message: it is not done. */
  readonly onPause?: (() => void) | undefined;
  /** Stops this agent and nothing else: a fork of the run's abort. Default: the abort of who runs it. */
  readonly abort?: AbortGuard | undefined;
  /** Asked before each event is stored of the agent, and of agents that are called further in. Default: of who runs it. */
  readonly inTurn?: InTurn | undefined;
}
