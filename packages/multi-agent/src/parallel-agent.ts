import { BaseAgent, type BaseAgentConfig, type Event, type InvocationContext } from '@eventloom/core';
import { BASE_AGENT_OPTIONS, branchBelow, checkKnown, type OptionNames } from '@eventloom/core/internal';
import { checkCount } from './check-count.ts';
import { BranchMerger } from './branch-merger.ts';

/** Config of a parallel agent. */
export interface ParallelAgentConfig extends BaseAgentConfig {
  /** Sub-agents that run at the same time, at most; the others begin as these end. Default: all of them. */
  readonly maxConcurrency?: number;
}

const OPTIONS: OptionNames<ParallelAgentConfig> = { ...BASE_AGENT_OPTIONS, maxConcurrency: true };

/**
 * Runs its sub-agents at the same time, each on a branch of its own (`parallel.child`): it sees what was said before, and nothing
 * of its siblings. Their events are yielded as they come, and a sub-agent goes on when its own event is committed.
 *
 * The first failure aborts the siblings, waits for them to close, and is thrown. A sub-agent that does not listen to its abort
 * signal is waited for at most 5 seconds.
 */
export class ParallelAgent extends BaseAgent {
  readonly maxConcurrency: number | undefined;

  /** @throws ConfigurationError as every agent does, and for an option this version does not have */
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
