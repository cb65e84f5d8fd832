import { BaseTool, type FunctionDeclaration, type RunAsyncToolRequest, type ToolContext } from '@eventloom/core';
import type { MCPToolAnnotations } from './server-tools.ts';

/** The parameters of `MCPTool`, which a toolset creates. */
export interface MCPToolParams {
  readonly name: string;
  readonly serverToolName: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly idempotent: boolean;
  readonly annotations: MCPToolAnnotations;
  /** Sends a call to the server. */
  readonly call: (args: Record<string, unknown>, toolContext: ToolContext) => Promise<unknown>;
}

/**
 * A tool of an MCP server. `MCPToolset` creates these; applications get them in a `toolFilter` and in callbacks.
 *
 * @example
 * import type { ToolPredicate } from '@eventloom/core';
 *
 * const readOnly: ToolPredicate = (tool) => isMCPTool(tool) && tool.annotations.readOnlyHint === true;
 */
export class MCPTool extends BaseTool {
  /** The tool's name at the server. The name for models may have a prefix, and `_` for characters that models do not accept. */
  readonly serverToolName: string;
  /** The server's hints, which may be wrong. */
  readonly annotations: MCPToolAnnotations;
  readonly #declaration: FunctionDeclaration;
  readonly #call: MCPToolParams['call'];

  constructor({ name, serverToolName, description, inputSchema, idempotent, annotations, call }: MCPToolParams) {
    super({ name, description, idempotent });
    this.serverToolName = serverToolName;
    this.annotations = annotations;
    this.#declaration = { name, description, parametersJsonSchema: inputSchema };
    this.#call = call;
  }

  get '~eventloom.mcpTool'(): true {
    return true;
  }

  override _getDeclaration(): FunctionDeclaration {
    return this.#declaration;
  }

  /** Calls the tool at the server. @throws MCPConnectionError, MCPProtocolError, MCPLimitError */
  override runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    return this.#call(args, toolContext);
  }
}

/** True for tools of MCP servers, including those of another loaded copy of this package, for which `instanceof` is false. */
export function isMCPTool(value: unknown): value is MCPTool {
  return typeof value === 'object' && value !== null && '~eventloom.mcpTool' in value;
}
