import {
  BaseTool,
  BaseToolset,
  type FunctionDeclaration,
  type ReadonlyContext,
  type RunAsyncToolRequest,
  type ToolProcessLlmRequest,
} from '@eventloom/core';

/** The marks of tools and toolsets of `@google/adk`, which every copy of it has. */
const ADK_TOOL = Symbol.for('google.adk.baseTool');
const ADK_TOOLSET = Symbol.for('google.adk.baseToolset');

/** A tool of a package that imports `@google/adk` itself, such as the client of a server of tools. */
export interface AdkPackageTool {
  readonly name: string;
  readonly description: string;
  readonly isLongRunning: boolean;
  _getDeclaration(): object | undefined;
  runAsync(request: never): Promise<unknown>;
  processLlmRequest(request: never): Promise<void>;
}

/** A toolset of a package that imports `@google/adk` itself. */
export interface AdkPackageToolset {
  getTools(context?: never): Promise<readonly AdkPackageTool[]>;
  close(): Promise<void>;
}

/** Returns a tool or toolset of `@google/adk` as one of Eventloom, and any other value as it is. */
export function adoptTool<T>(tool: T | AdkPackageTool | AdkPackageToolset): T | BaseTool | BaseToolset {
  if (isMarked<AdkPackageTool>(tool, ADK_TOOL)) return new AdoptedTool(tool);
  if (isMarked<AdkPackageToolset>(tool, ADK_TOOLSET)) return new AdoptedToolset(tool);
  return tool as T;
}

function isMarked<T>(value: unknown, mark: symbol): value is T {
  return typeof value === 'object' && value !== null && mark in value;
}

class AdoptedTool extends BaseTool {
  readonly #tool: AdkPackageTool;

  constructor(tool: AdkPackageTool) {
    const { name, description, isLongRunning } = tool;
    super({ name, description, isLongRunning });
    this.#tool = tool;
  }

  override _getDeclaration(): FunctionDeclaration | undefined {
    return this.#tool._getDeclaration() as FunctionDeclaration | undefined;
  }

  override runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    return this.#tool.runAsync({ args, toolContext } as never);
  }

  /** Adds the declaration; a tool without one, which the model's service runs, changes the request itself. */
  override processLlmRequest(request: ToolProcessLlmRequest): Promise<void> | void {
    if (this._getDeclaration()) return super.processLlmRequest(request);
    return this.#tool.processLlmRequest(request as never);
  }
}

class AdoptedToolset extends BaseToolset {
  readonly #toolset: AdkPackageToolset;

  constructor(toolset: AdkPackageToolset) {
    super([], undefined, { name: toolset.constructor.name });
    this.#toolset = toolset;
  }

  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const tools = await this.#toolset.getTools(context as never);
    return tools.map((tool) => new AdoptedTool(tool));
  }

  override close(): Promise<void> {
    return this.#toolset.close();
  }
}
