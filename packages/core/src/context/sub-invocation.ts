import type { BaseAgent } from '../agent/base-agent.ts';
import type { Content } from '../content/content.ts';
import type { Event, NodeInfo } from '../event/event.ts';
import type { AbortGuard } from './abort-guard.ts';
import type { ToolContext } from './tool-context.ts';

/** Runs a commit when it is the caller's turn, and returns the result of the commit. */
export type InTurn = <T>(commit: () => Promise<T>) => Promise<T>;

/** Parameters of `InvocationContext.runSubInvocation`: an agent to run in isolation, for example by a tool. */
export interface SubInvocation {
  /** Root of the tree that runs. Transfers stay within this tree. */
  readonly agent: BaseAgent;
  /** The message to the agent. */
  readonly userContent: Content;
  /**
   * Names a node in the event of the message, which agents that read what nodes say then read too. Absent: only the
   * agent itself reads the message.
   */
  readonly nodeInfo?: NodeInfo | undefined;
  /** The branch around that of the sub-invocation. Default: that of the calling agent. */
  readonly branch?: string | undefined;
  /** Id of the call, which distinguishes several sub-invocations of one agent. */
  readonly callId: string;
  /** The tool call that runs the agent. Its operation is the parent of the agent's. Absent for an agent that no tool runs. */
  readonly caller?: ToolContext | undefined;
  /**
   * True yields chunks as well, if the run streams. False marks the stored message: the caller does not show the
   * agent's work to readers.
   */
  readonly streaming: boolean;
  /** Called with each event that is stored already when an interrupted call continues. */
  readonly onRecorded?: ((event: Event) => void) | undefined;
  /** Called when the agent, in a resumable run, waits for an answer in a later message. It is then not done. */
  readonly onPause?: (() => void) | undefined;
  /** Abort guard that stops only this agent, a fork of the run's. Default: the abort guard of the calling agent. */
  readonly abort?: AbortGuard | undefined;
  /** Orders the commits of the agent and of agents that it calls. Default: that of the calling agent. */
  readonly inTurn?: InTurn | undefined;
}
