import { BaseAgent, type BaseAgentConfig, type Event, type InvocationContext } from '@eventloom/core';
import { BASE_AGENT_OPTIONS, branchBelow, checkKnown, type OptionNames } from '@eventloom/core/internal';
import { checkCount } from './check-count.ts';
import { BranchMerger } from './branch-merger.ts';

/** Config of a parallel agent. */
export interface ParallelAgentConfig extends BaseAgentConfig {
  /** Maximum number of sub-agents that run at the same time; the others start as these end. Default: no limit. */
  readonly maxConcurrency?: number;
}

const OPTIONS: OptionNames<ParallelAgentConfig> = { ...BASE_AGENT_OPTIONS, maxConcurrency: true };

/**
 * Runs its sub-agents at the same time, each on its own branch (`parallel.child`). A sub-agent sees the earlier events but not
 * those of its siblings. Events are yielded in the order in which they come, and a sub-agent continues once its own event is
 * committed.
 *
 * If a sub-agent fails, its siblings are aborted and closed, and its error is thrown. The agent waits at most 5 seconds for
 * siblings that ignore their abort signal.
 *
 * @example
 * const research = new ParallelAgent({ name: 'research', subAgents: [prices, reviews, news], maxConcurrency: 2 });
 */
export class ParallelAgent extends BaseAgent {
  readonly maxConcurrency: number | undefined;

  /** @throws ConfigurationError for an invalid or unknown option */
  constructor(config: ParallelAgentConfig) {
    checkKnown(`agent "${config.name}"`, OPTIONS, config);
    checkCount(config, 'maxConcurrency', config.maxConcurrency);
    super(config);
    this.maxConcurrency = config.maxConcurrency;
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const abort = context.forkAbort();
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
          if (!context.isEnded) begin();
        }
      }
    } finally {
      await merger.stop();
      context.dropAbort(abort);
    }
  }
}
