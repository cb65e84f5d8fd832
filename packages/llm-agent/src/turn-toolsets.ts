import {
  type BaseTool,
  type BaseToolset,
  type Event,
  type Invocation,
  type InvocationContext,
  ReadonlyContext,
  ToolsetUnavailableError,
} from '@eventloom/core';

/** The tools that one toolset listed, and its version before it did. */
interface ListedTools {
  readonly version: number | undefined;
  /** Undefined for a toolset that could not list its tools and that the agent does without. */
  readonly tools: Promise<readonly BaseTool[] | undefined>;
}

/** The tools of one agent's toolsets in one turn. Each toolset is asked once, and again after its version changed. */
class TurnToolsets {
  readonly #listed = new Map<BaseToolset, ListedTools>();
  /** The toolsets that the agent does without, and those of them that no event has named yet. */
  readonly missing = new Set<string>();
  readonly unreported = new Set<string>();

  /** @throws ToolsetUnavailableError when the tools cannot be listed, unless the toolset says `skip` */
  async list(toolset: BaseToolset, context: InvocationContext): Promise<readonly BaseTool[]> {
    const { version } = toolset;
    let listed = this.#listed.get(toolset);
    if (!listed || listed.version !== version) {
      listed = { version, tools: this.#ask(toolset, context) };
      this.#listed.set(toolset, listed);
    }
    return (await listed.tools) ?? [];
  }

  async #ask(toolset: BaseToolset, context: InvocationContext): Promise<readonly BaseTool[] | undefined> {
    // A toolset of another version of core has neither of the two.
    const { name = 'toolset', onUnavailable = 'fail' } = toolset as Partial<BaseToolset>;
    try {
      const tools = await toolset.getTools(new ReadonlyContext(context));
      this.missing.delete(name);
      return tools;
    } catch (cause) {
      // A toolset that stops with the run is not unavailable.
      context.throwIfAborted();
      if (onUnavailable !== 'skip') {
        if (ToolsetUnavailableError.isInstance(cause)) throw cause;
        throw ToolsetUnavailableError.of(name, cause);
      }
      this.missing.add(name);
      this.unreported.add(name);
      return undefined;
    }
  }
}

const TURNS = new WeakMap<Invocation, Map<string, TurnToolsets>>();

/** The toolsets of the context's agent in this turn. */
export function turnToolsets({ invocation, agent }: InvocationContext): TurnToolsets {
  let turn = TURNS.get(invocation);
  if (!turn) TURNS.set(invocation, (turn = new Map()));
  let toolsets = turn.get(agent.name);
  if (!toolsets) turn.set(agent.name, (toolsets = new TurnToolsets()));
  return toolsets;
}

/** Returns an event with the names of the toolsets that were found missing since the last such event; undefined when there are none. */
export function missingToolsetsEvent(context: InvocationContext): Event | undefined {
  const toolsets = TURNS.get(context.invocation)?.get(context.agent.name);
  if (!toolsets || toolsets.unreported.size === 0) return undefined;
  const unavailableToolsets = [...toolsets.unreported];
  toolsets.unreported.clear();
  return context.createEvent({ customMetadata: { unavailableToolsets } });
}
