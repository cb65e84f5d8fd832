import type { ReadonlyContext } from '../context/readonly-context.ts';
import { ConfigurationError } from '../errors.ts';
import type { BaseTool } from './base-tool.ts';
import { isToolName } from './reserved-calls.ts';

/** Says whether an agent gets a tool. */
export type ToolPredicate = (tool: BaseTool, context: ReadonlyContext) => boolean;

/** Options of every toolset. */
export interface BaseToolsetOptions {
  /** Names the toolset to people and to the model, in the alphabet of tool names. Default: the name of the class. */
  readonly name?: string | undefined;
  /**
   * The effect of a `getTools` that throws. `fail`: the run fails with ToolsetUnavailableError. `skip`: the agent works without the
   * toolset until the end of the turn, its model is told so, and an event has the name under `customMetadata.unavailableToolsets`.
   * Default `fail`.
   */
  readonly onUnavailable?: 'fail' | 'skip' | undefined;
}

/** Tools that come together, and may differ from one invocation to the next. */
export abstract class BaseToolset {
  readonly toolFilter: ToolPredicate | readonly string[];
  /** Prefix of the tools' names. The subclass applies it, with `prefixed`, where it makes its tools. */
  readonly prefix: string | undefined;
  readonly name: string;
  readonly onUnavailable: 'fail' | 'skip';

  /** @throws ConfigurationError for a name that is no tool name, and another `onUnavailable` */
  constructor(
    toolFilter: ToolPredicate | readonly string[] = [],
    prefix?: string,
    { name, onUnavailable = 'fail' }: BaseToolsetOptions = {},
  ) {
    if (name !== undefined && !isToolName(name))
      throw new ConfigurationError(
        `toolset name ${JSON.stringify(name)}: must be 1 to 128 letters, digits, _ . : - and start with a letter or _`,
      );
    if (onUnavailable !== 'fail' && onUnavailable !== 'skip')
      throw new ConfigurationError(`toolset onUnavailable: must be fail or skip, is ${JSON.stringify(onUnavailable)}`);
    this.toolFilter = toolFilter;
    this.prefix = prefix;
    this.name = name ?? (isToolName(new.target.name) ? new.target.name : 'toolset');
    this.onUnavailable = onUnavailable;
  }

  get '~eventloom.toolset'(): true {
    return true;
  }

  /**
   * The version of the list of tools. An agent lists the tools once a turn, and again in the same turn only after the version changed.
   * Overridden by toolsets whose tools change while a turn runs.
   */
  get version(): number | undefined {
    return undefined;
  }

  /** The tools for this invocation; all of them without a context. Called once a turn for each agent: see `version`. */
  abstract getTools(context?: ReadonlyContext): Promise<BaseTool[]>;

  /** Releases what the toolset holds open. Nothing runs it any more afterwards. */
  abstract close(): Promise<void>;

  /** The name to give a tool: `prefix` and `_` in front when there is a prefix. */
  protected prefixed(name: string): string {
    return this.prefix ? `${this.prefix}_${name}` : name;
  }

  /**
   * Applies `toolFilter`, to the name that the tool has, prefix included: an empty list lets every tool pass. Without a context, as
   * `getTools` may have none, nothing is filtered.
   */
  protected isToolSelected(tool: BaseTool, context?: ReadonlyContext): boolean {
    if (!context) return true;
    if (typeof this.toolFilter === 'function') return this.toolFilter(tool, context);
    return this.toolFilter.length === 0 || this.toolFilter.includes(tool.name);
  }
}

/** True for toolsets, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseToolset(value: unknown): value is BaseToolset {
  return typeof value === 'object' && value !== null && '~eventloom.toolset' in value;
}
