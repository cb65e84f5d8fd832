import { toValidName } from '../agent/nearest-names.ts';
import { checkBaseOptions, type OptionRules, readOnlyError } from '../agent/options.ts';
import type { ReadonlyContext } from '../context/callback-context.ts';
import { ConfigurationError } from '../errors.ts';
import type { BaseTool } from './base-tool.ts';
import { isToolName } from './reserved-calls.ts';

/** Returns true if the agent of the context gets the tool. */
export type ToolPredicate = (tool: BaseTool, context: ReadonlyContext) => boolean;

/** Options of every toolset. */
export interface BaseToolsetOptions {
  /** Name of the toolset in errors and for the model, with the characters of tool names. Default: the name of the class. */
  readonly name?: string | undefined;
  /**
   * Behaviour when `getTools` throws. `fail` (default): the run fails with ToolsetUnavailableError. `skip`: the agent works
   * without the toolset until the end of the turn, its model gets a note, and an event names the toolset under
   * `customMetadata.unavailableToolsets`.
   */
  readonly onUnavailable?: 'fail' | 'skip' | undefined;
}

const OPTIONS: OptionRules<BaseToolsetOptions> = {
  name: { is: 'text', write: "'menu'" },
  onUnavailable: { is: 'text', oneOf: ['fail', 'skip'], write: "'skip'" },
};
const POSITIONS = {
  toolFilter: { is: 'function or list', wanted: 'a list of names or a function', write: "['get_weather']" },
  prefix: { is: 'text', write: "'weather'" },
};

/**
 * Base class of toolsets: objects in an agent's `tools` that list their tools when a run asks for them. Extend it when the tools are not
 * known in advance, for example because a server has them, or when their number depends on the user. For fixed tools write a
 * `FunctionTool` for each instead.
 *
 * @example
 * class Menu extends BaseToolset {
 *   constructor() {
 *     super([], undefined, { name: 'menu', onUnavailable: 'skip' });
 *   }
 *
 *   override async getTools(): Promise<BaseTool[]> {
 *     const dishes = await (await fetch('https://menu.example/dishes')).json();
 *     return [new FunctionTool({ name: 'list_dishes', description: 'Lists the dishes of today.', execute: () => dishes })];
 *   }
 *
 *   override async close(): Promise<void> {}
 * }
 */
export abstract class BaseToolset {
  /** Selects the tools to offer: a list of their names, or a function. An empty list, the default, selects all. */
  readonly toolFilter: ToolPredicate | readonly string[];
  /** Text before the names of the tools, so that two toolsets can have tools of the same name. The subclass adds it, with `prefixed`. */
  readonly prefix: string | undefined;
  /** Name of the toolset in errors and for the model. */
  readonly name: string;
  /** Behaviour when `getTools` throws, see `BaseToolsetOptions.onUnavailable`. */
  readonly onUnavailable: 'fail' | 'skip';

  /**
   * A subclass may pass options of its own in `options` too: they are ignored, unless a name is one character off an option that is not
   * given.
   * @throws ConfigurationError for a name with other characters than tool names have, for a filter that is neither a function nor a list
   * of names, and for an option of another kind or with a misspelt name
   */
  constructor(toolFilter: ToolPredicate | readonly string[] = [], prefix?: string, options: BaseToolsetOptions = {}) {
    const owner = new.target.name;
    checkBaseOptions(owner, OPTIONS, options);
    checkBaseOptions(owner, POSITIONS, { toolFilter, prefix });
    const { name, onUnavailable = 'fail' } = options;
    if (name !== undefined && !isToolName(name))
      throw new ConfigurationError(
        `toolset name: expected 1 to 128 letters, digits, _ . : and -, beginning with a letter or _, got ${JSON.stringify(name)}; write name: '${toValidName(name)}'`,
      );
    this.toolFilter = toolFilter;
    this.prefix = prefix;
    this.name = name ?? (isToolName(new.target.name) ? new.target.name : 'toolset');
    this.onUnavailable = onUnavailable;
  }

  get '~eventloom.toolset'(): true {
    return true;
  }

  /**
   * Version of the list of tools. An agent calls `getTools` once a turn, and again in the same turn only if the version has
   * changed. A subclass overrides it if its tools can change during a turn. Default: undefined, they do not.
   */
  get version(): number | undefined {
    return undefined;
  }

  set version(_version: never) {
    throw readOnlyError(this.name, 'version', 'write get version() { return this.#version; } in its class');
  }

  /**
   * True if the names of the tools come from elsewhere, such as a server. A tool whose name is taken by another tool of
   * the agent is then left out and reported to the platform; otherwise the run fails. Default: false.
   */
  get skipsTakenNames(): boolean {
    return false;
  }

  /**
   * Returns the tools for the run of the context; without a context, the tools of every run. An agent calls it once in
   * its turn, before the first model request: see `version`.
   */
  abstract getTools(context?: ReadonlyContext): Promise<BaseTool[]>;

  /**
   * Releases the toolset's resources, such as connections. `runner.close()` calls it, and so does `suspend` by default; the next run
   * calls `getTools` again, which connects again. A second call has no effect.
   */
  abstract close(): Promise<void>;

  /**
   * Called by the runner when a run has ended and no other run of the runner is active. Default: calls `close`. A toolset whose
   * connections are worth keeping for the next run overrides it: it must then let the process end without `close`.
   */
  suspend(): Promise<void> {
    return this.close();
  }

  /** Returns the name for a tool: `prefix_name`, or `name` without a prefix. */
  protected prefixed(name: string): string {
    return this.prefix ? `${this.prefix}_${name}` : name;
  }

  /**
   * Returns true if `toolFilter` selects the tool. A list is compared with the tool's name, prefix included; an empty list
   * selects every tool. A function is not called without a context: it then selects every tool.
   */
  protected isToolSelected(tool: BaseTool, context?: ReadonlyContext): boolean {
    if (typeof this.toolFilter === 'function') return !context || this.toolFilter(tool, context);
    return this.toolFilter.length === 0 || this.toolFilter.includes(tool.name);
  }
}

/** True for toolsets, including those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseToolset(value: unknown): value is BaseToolset {
  return typeof value === 'object' && value !== null && '~eventloom.toolset' in value;
}
