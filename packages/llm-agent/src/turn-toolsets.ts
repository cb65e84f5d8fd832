import {
  type BaseTool,
  type BaseToolset,
  type Event,
  type Invocation,
  type InvocationContext,
  ObjectType,
  ReadonlyContext,
  StorageError,
  ToolsetUnavailableError,
} from '@eventloom/core';
import { reportTo } from '@eventloom/core/internal';

/** The tools that a toolset listed, and the toolset's version at that time. */
interface ListedTools {
  readonly version: number | undefined;
  /** Resolves to undefined if the toolset is unavailable and configured with `onUnavailable: 'skip'`. */
  readonly tools: Promise<readonly BaseTool[] | undefined>;
}

/**
 * The tools of an agent's toolsets in one invocation. Each toolset lists its tools once, and again after its version
 * changed or `listAgain` was called.
 */
class TurnToolsets {
  readonly #listed = new Map<BaseToolset, ListedTools>();
  /** Names of the toolsets that are unavailable. */
  readonly missing = new Set<string>();
  /** Names of the tools that were reported because their names are taken. */
  readonly taken = new Set<string>();
  /** Names of the unavailable toolsets that no event has reported yet. */
  readonly unreported = new Set<string>();

  /**
   * Lists the tools of a toolset.
   * @throws ToolsetUnavailableError if the tools cannot be listed, unless the toolset's `onUnavailable` is `'skip'`
   */
  async list(toolset: BaseToolset, context: InvocationContext): Promise<readonly BaseTool[]> {
    const { version } = toolset;
    let listed = this.#listed.get(toolset);
    if (!listed || listed.version !== version) {
      listed = { version, tools: this.#ask(toolset, context) };
      this.#listed.set(toolset, listed);
    }
    return (await listed.tools) ?? [];
  }

  /** Lets the toolsets list their tools again when these are next needed. Unavailable ones stay so until the end of the turn. */
  listAgain(): void {
    for (const toolset of this.#listed.keys()) if (!this.missing.has(nameOf(toolset))) this.#listed.delete(toolset);
  }

  async #ask(toolset: BaseToolset, context: InvocationContext): Promise<readonly BaseTool[] | undefined> {
    const name = nameOf(toolset);
    const { onUnavailable = 'fail' } = toolset as Partial<BaseToolset>;
    try {
      const tools = await toolset.getTools(new ReadonlyContext(context));
      this.missing.delete(name);
      return tools;
    } catch (cause) {
      // A toolset that stops with the run is not unavailable.
      context.throwIfAborted();
      // A toolset that reads credentials or artifacts is not unavailable itself.
      if (StorageError.isInstance(cause)) throw cause;
      const error = ToolsetUnavailableError.isInstance(cause) ? cause : ToolsetUnavailableError.of(name, cause);
      if (onUnavailable !== 'skip') throw error;
      // The event names the toolset only, because its readers may not see addresses of the inside.
      reportTo(context.platform, error);
      this.missing.add(name);
      this.unreported.add(name);
      return undefined;
    }
  }
}

/** Returns the name of a toolset. One of another version of core may have neither a name nor `onUnavailable`. */
function nameOf({ name = 'toolset' }: Partial<BaseToolset>): string {
  return name;
}

const TURNS = new WeakMap<Invocation, Map<string, TurnToolsets>>();

/** Returns the toolsets of the context's agent in this invocation. */
export function turnToolsets(context: InvocationContext): TurnToolsets {
  const { invocation, agent } = context;
  let turn = TURNS.get(invocation);
  if (!turn) TURNS.set(invocation, (turn = new Map()));
  let toolsets = turn.get(agent.name);
  if (!toolsets) turn.set(agent.name, (toolsets = new TurnToolsets()));
  return toolsets;
}

/** Returns an event with the names of the toolsets that became unavailable since the last such event; undefined if there are none. */
export function missingToolsetsEvent(context: InvocationContext): Event | undefined {
  const toolsets = TURNS.get(context.invocation)?.get(context.agent.name);
  if (!toolsets || toolsets.unreported.size === 0) return undefined;
  const unavailableToolsets = [...toolsets.unreported];
  toolsets.unreported.clear();
  return context.createEvent({ object: ObjectType.preprocessingTools, customMetadata: { unavailableToolsets } });
}
