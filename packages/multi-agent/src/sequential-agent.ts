import {
  BaseAgent,
  type BaseAgentConfig,
  type BaseLiveRequestQueue,
  BaseTool,
  type Event,
  type FunctionDeclaration,
  type InvocationContext,
} from '@eventloom/core';
import { BASE_AGENT_OPTIONS, checkOptions, type OptionRules, TASK_COMPLETED } from '@eventloom/core/internal';
import { CURRENT_SUB_AGENT, currentSubAgent, requireSubAgents } from './sub-agents.ts';

/** Options of a `SequentialAgent`. */
export interface SequentialAgentConfig extends BaseAgentConfig {
  /** The agents to run, in this order. An empty list runs none. */
  readonly subAgents: readonly BaseAgent[];
}

const OPTIONS: OptionRules<SequentialAgentConfig> = BASE_AGENT_OPTIONS;

/**
 * Runs its sub-agents once each, in the given order, without asking a model which comes next. Each one starts when the one before
 * it has ended, and sees its messages and its state. The usual way to pass a result on is the `outputKey` of one agent and
 * `{thatKey}` in the instruction of a later one.
 *
 * If a sub-agent hands the conversation over (`transfer_to_agent`), the other agent runs in its place, and then the sequence
 * continues. In a live run (`runLive`) each sub-agent gets the tool `task_completed` and runs until its model calls it.
 *
 * @example
 * const model = 'gemini-flash-latest';
 * const researcher = new LlmAgent({ name: 'researcher', model, instruction: 'Collect facts.', outputKey: 'facts' });
 * const writer = new LlmAgent({ name: 'writer', model, instruction: 'Write a paragraph with these facts: {facts}' });
 * const pipeline = new SequentialAgent({ name: 'pipeline', subAgents: [researcher, writer] });
 */
export class SequentialAgent extends BaseAgent {
  /** @throws ConfigurationError without `subAgents`, and for an invalid or unknown option */
  constructor(config: SequentialAgentConfig) {
    super(config);
    checkOptions(`agent "${config.name}"`, OPTIONS, config);
    requireSubAgents(config);
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
      if (context.endInvocation || context.isPaused) return;
    }
  }

  /** Runs the sub-agents live, one after the other. Each gets the tool `task_completed`, and runs until its model calls it. */
  protected override async *runLiveImpl(
    context: InvocationContext,
    queue: BaseLiveRequestQueue,
  ): AsyncGenerator<Event, void, void> {
    const place = { tools: [taskCompleted], instructions: [TASK_COMPLETED_INSTRUCTION] };
    for (const child of this.subAgents) {
      yield* context.runAgent(child, place);
      if (context.endInvocation || (queue.isClosed && queue.chars === 0)) return;
    }
  }

  override get canRunLive(): boolean {
    return this.subAgents.every((child) => child.canRunLive);
  }
}

class TaskCompletedTool extends BaseTool {
  constructor() {
    super({
      name: TASK_COMPLETED,
      description: 'Call this when your task is done. The next agent continues the conversation.',
      idempotent: true,
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description };
  }

  override runAsync(): Promise<unknown> {
    return Promise.resolve('Task completion signaled.');
  }
}

/** The tool with which an agent of a SequentialAgent ends its part of a live run. */
const taskCompleted: BaseTool = /* @__PURE__ */ new TaskCompletedTool();

/** Instruction for an agent that has the tool `task_completed`. */
const TASK_COMPLETED_INSTRUCTION = `When your part of the task is done, call ${TASK_COMPLETED}, and say nothing beside the call: the next agent takes over.`;
