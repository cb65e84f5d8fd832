import type { ReadonlyContext } from '../context/readonly-context.ts';
import type { BaseTool } from './base-tool.ts';

/** Says whether an agent gets a tool. */
export type ToolPredicate = (tool: BaseTool, context: ReadonlyContext) => boolean;

/** Tools that come together, and may differ from one invocation to the next. */
export abstract class BaseToolset {
  readonly toolFilter: ToolPredicate | readonly string[];
  /** Put in front of every tool's name, with `_` between. */
  readonly prefix: string | undefined;

  constructor(toolFilter: ToolPredicate | readonly string[] = [], prefix?: string) {
    this.toolFilter = toolFilter;
    this.prefix = prefix;
  }

  /** The tools for this invocation; all of them without a context. */
  abstract getTools(context?: ReadonlyContext): Promise<BaseTool[]>;

  /** Releases what the toolset holds open. Nothing runs it any more afterwards. */
  abstract close(): Promise<void>;

  /** Applies `toolFilter`: an empty list lets every tool pass. */
  protected isToolSelected(tool: BaseTool, context: ReadonlyContext): boolean {
    if (typeof this.toolFilter === 'function') return this.toolFilter(tool, context);
    return this.toolFilter.length === 0 || this.toolFilter.includes(tool.name);
  }
}
