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
   * Maximum number of rounds through the sub-agents. Default: no limit; the loop ends when a sub-agent escalates, when the run
   * is aborted, or when `maxLlmCalls` is reached.
   */
  readonly maxIterations?: number;
}

const OPTIONS: OptionNames<LoopAgentConfig> = { ...BASE_AGENT_OPTIONS, maxIterations: true };

/** Events whose escalation already ended a loop. An escalation ends only the innermost loop. */
const ANSWERED = new WeakSet<Event>();

/**
 * Runs its sub-agents one after the other, round after round, until an event of an agent below it has `actions.escalate` (the
 * `exitLoop` tool sets it) or `maxIterations` rounds are complete. The agent that escalates runs to its end; the rest of the
 * round is skipped. In nested loops only the innermost one ends.
 *
 * @example
 * const critic = new LlmAgent({ name: 'critic', model: 'gemini-2.5-flash', tools: [exitLoop] });
 * const refine = new LoopAgent({ name: 'refine', subAgents: [writer, critic], maxIterations: 5 });
 */
export class LoopAgent extends BaseAgent {
  readonly maxIterations: number | undefined;

  /** @throws ConfigurationError for an invalid or unknown option */
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
          // Checked before the yield, because an outer loop sees the event next, and only this loop may end.
          isLeft = escalates(event, enclosure) || isLeft;
          yield event;
        }
        if (isLeft || context.isEnded || context.isPaused) return;
      }
      first = 0;
    }
  }
}

/** Returns the round to run, from 0, by the loop's last checkpoint; 0 without a valid count. */
function roundOf(agentState: Readonly<Record<string, unknown>> | undefined): number {
  const round = agentState?.[LOOP_COUNT];
  return typeof round === 'number' && Number.isSafeInteger(round) && round > 0 ? round : 0;
}

/** True for an event that ends this loop; true only once an event. Ignores events of agents that are called as tools. */
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

/**
 * The tool `exit_loop`, with which a model ends the innermost LoopAgent around its agent. The model is not called again
 * afterwards. Also exported as `EXIT_LOOP`, its ADK name.
 */
export const exitLoop: BaseTool = /* @__PURE__ */ new ExitLoopTool();
