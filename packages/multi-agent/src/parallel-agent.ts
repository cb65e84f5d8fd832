import { BaseAgent, type BaseAgentConfig, type Event, type InvocationContext } from '@eventloom/core';
import { BASE_AGENT_OPTIONS, branchBelow, checkOptions, integer, type OptionRules } from '@eventloom/core/internal';
import { BranchMerger } from './branch-merger.ts';
import { requireSubAgents } from './sub-agents.ts';

/** Options of a `ParallelAgent`. */
export interface ParallelAgentConfig extends BaseAgentConfig {
  /** The agents to run at the same time. An empty list runs none. */
  readonly subAgents: readonly BaseAgent[];
  /** Maximum number of sub-agents that run at the same time; the others start as these end. Default: no limit. */
  readonly maxConcurrency?: number;
}

const OPTIONS: OptionRules<ParallelAgentConfig> = { ...BASE_AGENT_OPTIONS, maxConcurrency: integer(1) };

/**
 * Runs its sub-agents at the same time, once each, and ends when all of them have ended. Each sub-agent sees the conversation so far, but
 * not the messages that the others write meanwhile. To use the results, give each sub-agent its own `outputKey`, and in a `SequentialAgent`
 * put an agent that reads these keys after this one.
 *
 * The events of the sub-agents are mixed in the stream, in the order in which they come. The `branch` of an event (`research.prices`) says
 * which sub-agent it comes from.
 *
 * If a sub-agent fails, the others are stopped, and its error is thrown. The agent waits at most 5 seconds for sub-agents that do not react
 * to their `abortSignal`. Live runs (`runLive`) do not support this agent.
 *
 * @example
 * const model = 'gemini-flash-latest';
 * const prices = new LlmAgent({ name: 'prices', model, instruction: 'Find prices.', outputKey: 'prices' });
 * const reviews = new LlmAgent({ name: 'reviews', model, instruction: 'Find reviews.', outputKey: 'reviews' });
 * const advisor = new LlmAgent({ name: 'advisor', model, instruction: 'Advise, with {prices} and {reviews}.' });
 * const research = new ParallelAgent({ name: 'research', subAgents: [prices, reviews] });
 * const rootAgent = new SequentialAgent({ name: 'shopping', subAgents: [research, advisor] });
 */
export class ParallelAgent extends BaseAgent {
  /** Maximum number of sub-agents that run at once; undefined for all. */
  readonly maxConcurrency: number | undefined;

  /** @throws ConfigurationError without `subAgents`, and for an invalid or unknown option */
  constructor(config: ParallelAgentConfig) {
    super(config);
    checkOptions(`agent "${config.name}"`, OPTIONS, config);
    requireSubAgents(config);
    this.maxConcurrency = config.maxConcurrency;
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const abort = context.abortGuard.fork();
    const merger = new BranchMerger(context, abort);
    const branch = branchBelow(context.branch, this.name);
    let begun = 0;
    const begin = (): void => {
      const child = this.subAgents[begun++];
      if (child) merger.open(child, { branch: branchBelow(branch, child.name), abort });
    };
    try {
      const atOnce = Math.min(this.maxConcurrency ?? Infinity, this.subAgents.length);
      while (begun < atOnce) begin();
      while (merger.size > 0) {
        const { source, event } = await merger.next();
        if (event) {
          yield event;
          merger.resume(source);
        } else {
          merger.close(source);
          if (!context.endInvocation) begin();
        }
      }
    } finally {
      await merger.stop();
      context.abortGuard.drop(abort);
    }
  }
}
