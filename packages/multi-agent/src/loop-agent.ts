import {
  BaseAgent,
  type BaseAgentConfig,
  BaseTool,
  type Event,
  type FunctionDeclaration,
  type InvocationContext,
  type RunAsyncToolRequest,
} from '@eventloom/core';
import { BASE_AGENT_OPTIONS, checkKnown, enclosureOf, LOOP_COUNT, type OptionNames } from '@eventloom/core/internal';
import { checkCount } from './check-count.ts';
import { CURRENT_SUB_AGENT, currentSubAgent } from './current-sub-agent.ts';

/** Config of a loop agent. */
export interface LoopAgentConfig extends BaseAgentConfig {
  /**
   * Rounds through the sub-agents, at most. Default: until one escalates. A loop that never does goes on until its run is aborted
   * or `maxLlmCalls` are used up; the process serves others meanwhile.
   */
  readonly maxIterations?: number;
}

const OPTIONS: OptionNames<LoopAgentConfig> = { ...BASE_AGENT_OPTIONS, maxIterations: true };

/** Events whose escalation ended a loop already: it is the innermost loop around an agent that the agent leaves. */
const ANSWERED = new WeakSet<Event>();

/**
 * Runs its sub-agents one after the other, round after round, until an event below it says `escalate` (the `exitLoop` tool makes
 * one) or there were `maxIterations` rounds. The agent that escalates finishes; the rest of the round is skipped. Of loops in
 * loops the innermost one ends.
 */
export class LoopAgent extends BaseAgent {
  readonly maxIterations: number | undefined;

  /** @throws ConfigurationError as every agent does, and for an option this version does not have */
  constructor(config: LoopAgentConfig) {
    checkKnown(`agent "${config.name}"`, OPTIONS, config);
    checkCount(config, 'maxIterations', config.maxIterations);
    super(config);
    this.maxIterations = config.maxIterations;
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override get storesProgress(): boolean {
    return true;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const enclosure = enclosureOf(context.branch);
    if (this.subAgents.length === 0) return;
    const { agentState, resumedFrom, invocation } = context;
    let isResumed = agentState !== undefined;
    let first = currentSubAgent(context, this.subAgents);
    for (let round = roundOf(agentState); round < (this.maxIterations ?? Infinity); round++) {
      for (const child of this.subAgents.slice(first)) {
        context.throwIfAborted();
        let isLeft = isResumed && resumedFrom !== undefined && invocation.resumedFrom?.isLeft(resumedFrom) === true;
        if (context.isResumable && !isResumed) {
          const checkpoint = { [CURRENT_SUB_AGENT]: child.name, [LOOP_COUNT]: round };
          yield context.createEvent({ actions: { agentState: checkpoint } });
        }
        isResumed = false;
        for await (const event of context.runAgent(child)) {
          // Before it is yielded: an outer loop sees it next, and it is this one that ends.
          isLeft = escalates(event, enclosure) || isLeft;
          yield event;
        }
        if (isLeft || context.isEnded || context.isPaused) return;
      }
      first = 0;
    }
  }
}

/** The round that has its turn, by the loop's last checkpoint; the first one for what is no count of rounds. */
function roundOf(agentState: Readonly<Record<string, unknown>> | undefined): number {
  const round = agentState?.[LOOP_COUNT];
  return typeof round === 'number' && Number.isSafeInteger(round) && round > 0 ? round : 0;
}

/** True for an event that ends the loop, once. What an agent tool shows of its agent is not the loop's concern. */
function escalates(event: Event, enclosure: string): boolean {
  if (event.actions?.escalate !== true || event.partial === true || ANSWERED.has(event)) return false;
  if (enclosureOf(event.branch) !== enclosure) return false;
  ANSWERED.add(event);
  return true;
}

class ExitLoopTool extends BaseTool {
  constructor() {
    super({
      name: 'exit_loop',
      description: 'Ends the loop. Call it only when your instructions say that the loop is done.',
      idempotent: true,
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description };
  }

  override runAsync({ toolContext: { actions } }: RunAsyncToolRequest): Promise<unknown> {
    actions.escalate = true;
    actions.skipSummarization = true;
    return Promise.resolve({ status: 'the loop ends' });
  }
}

/** By this tool an agent inside a LoopAgent ends the loop. The model is not asked again afterwards. Also exported as `EXIT_LOOP`, its ADK name. */
export const exitLoop: BaseTool = /* @__PURE__ */ new ExitLoopTool();
