import type { ReadonlyContext } from '../context/readonly-context.ts';
import type { BaseTool } from './base-tool.ts';

/** Says whether an agent gets a tool. */
export type ToolPredicate = (tool: BaseTool, context: ReadonlyContext) => boolean;

/** Tools that come together, and may differ from one invocation to the next. */
export abstract class BaseToolset {
  readonly toolFilter: ToolPredicate | readonly string[];
  /** What a toolset puts in front of its tools' names. The subclass applies it, with `prefixed`, where it makes its tools. */
  readonly prefix: string | undefined;

  constructor(toolFilter: ToolPredicate | readonly string[] = [], prefix?: string) {
    this.toolFilter = toolFilter;
    this.prefix = prefix;
  }

  get '~eventloom.toolset'(): true {
    return true;
  }

  /** The tools for this invocation; all of them without a context. */
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
