import { type BaseAgent, type BaseToolset, type Platform } from '@eventloom/core';
import { reportUnlessStopped, isBaseToolset, within } from '@eventloom/core/internal';
import { isLlmAgent, type ToolUnion } from '@eventloom/llm-agent';

/** Time that a toolset has to close at the end of a run, in milliseconds. */
const TOOLSET_CLOSE_MS = 5000;

/**
 * The toolsets of a runner's agents. They are suspended when a run ends and no other run of the runner is active. That
 * closes most of them, as the ADK does after each run, so that the program can end. A suspended toolset opens again
 * when a run uses it.
 */
export class OpenToolsets {
  readonly #toolsets: readonly BaseToolset[];
  readonly #platform: Platform;
  /** The number of active runs. */
  #runs = 0;
  #closing: Promise<void> | undefined;

  constructor(toolsets: readonly BaseToolset[], platform: Platform) {
    this.#toolsets = toolsets;
    this.#platform = platform;
  }

  /** Returns the toolsets of an agent and of all agents below it; undefined if there are none. */
  static of(agent: BaseAgent, platform: Platform): OpenToolsets | undefined {
    const toolsets = [...agentsAndTools(agent)].filter(isBaseToolset);
    return toolsets.length > 0 ? new OpenToolsets(toolsets, platform) : undefined;
  }

  /** Notes that a run begins. Resolves once toolsets that are being closed are closed; undefined if none are. */
  runBegins(): Promise<void> | undefined {
    this.#runs++;
    return this.#closing;
  }

  /** Notes that a run has ended, and closes the toolsets if it was the last one. A failure to close is reported to the platform. */
  runEnds(): Promise<void> | undefined {
    this.#runs--;
    if (this.#runs > 0) return undefined;
    const closing = this.#closeAll().finally(() => {
      if (this.#closing === closing) this.#closing = undefined;
    });
    this.#closing = closing;
    return closing;
  }

  async #closeAll(): Promise<void> {
    await Promise.all(this.#toolsets.map((toolset) => this.#close(toolset)));
  }

  /** Closes a toolset, and waits for it for at most five seconds. */
  async #close(toolset: BaseToolset): Promise<void> {
    const platform = this.#platform;
    const closing = (async () => toolset.suspend())().catch((error: unknown) => reportUnlessStopped(platform, error));
    await within(platform, closing, TOOLSET_CLOSE_MS);
  }
}

/** Returns an agent, all agents below it, and their tools and toolsets. */
export function agentsAndTools(
  agent: BaseAgent,
  found = new Set<BaseAgent | ToolUnion>(),
): ReadonlySet<BaseAgent | ToolUnion> {
  if (found.has(agent)) return found;
  found.add(agent);
  if (isLlmAgent(agent)) for (const tool of agent.tools) found.add(tool);
  for (const other of [...agent.subAgents, ...agent.calledAgents]) agentsAndTools(other, found);
  return found;
}
