import {
  BaseAgent,
  type BaseAgentConfig,
  type BaseLiveRequestQueue,
  type Event,
  type InvocationContext,
} from '@eventloom/core';
import { checkAgentOptions } from './check-agent-options.ts';
import { CURRENT_SUB_AGENT, currentSubAgent } from './current-sub-agent.ts';
import { taskCompleted, TASK_COMPLETED_INSTRUCTION } from './task-completed-tool.ts';

/** What a sequential agent is made of. */
export type SequentialAgentConfig = BaseAgentConfig;

/**
 * Runs its sub-agents one after the other, each on what the ones before it said and stored. When one hands over to another agent,
 * that one goes on in its place, and the sequence after it.
 */
export class SequentialAgent extends BaseAgent {
  /** @throws ConfigurationError as every agent does, and for an option this version does not have */
  constructor(config: SequentialAgentConfig) {
    checkAgentOptions(config, []);
    super(config);
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override get storesProgress(): boolean {
    return true;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    let isResumed = context.agentState !== undefined;
    for (const child of this.subAgents.slice(currentSubAgent(context, this.subAgents))) {
      if (context.isResumable && !isResumed)
        yield context.createEvent({ actions: { agentState: { [CURRENT_SUB_AGENT]: child.name } } });
      isResumed = false;
      context.throwIfAborted();
      yield* context.runAgent(child);
      if (context.isEnded || context.isPaused) return;
    }
  }

  /** Each sub-agent goes on until it calls `task_completed`, which it is given for this run of it. */
  protected override async *runLiveImpl(
    context: InvocationContext,
    queue: BaseLiveRequestQueue,
  ): AsyncGenerator<Event, void, void> {
    const place = { tools: [taskCompleted], instructions: [TASK_COMPLETED_INSTRUCTION] };
    for (const child of this.subAgents) {
      yield* context.runAgent(child, place);
      if (context.isEnded || (queue.isClosed && queue.chars === 0)) return;
    }
  }

  override get canRunLive(): boolean {
    return this.subAgents.every((child) => child.canRunLive);
  }
}
