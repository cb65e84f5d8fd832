import {
  appendInstructions,
  BaseTool,
  BaseToolset,
  ConfigurationError,
  type FunctionDeclaration,
  type Part,
  type ReadonlyContext,
  type RunAsyncToolRequest,
  toError,
  type ToolPredicate,
  type ToolProcessLlmRequest,
} from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import type { MCPToolset } from '@eventloom/mcp';
import { requireArgument, requireOptions } from './check-arguments.ts';
import { getLogger } from './logger.ts';
import { createToolset, openSession } from './mcp-client.ts';

/**
 * The connection of programs that were written for `@google/adk` to an MCP server that is started as a process of this
 * machine. Only on Node.
 */
export interface StdioConnectionParams {
  type: 'StdioConnectionParams';
  serverParams: {
    /** The program to start, such as `npx`. It is started without a shell. */
    readonly command: string;
    readonly args?: readonly string[] | undefined;
    /** Its environment, beside HOME, LOGNAME, PATH, SHELL, TERM and USER of this process. */
    readonly env?: Readonly<Record<string, string>> | undefined;
    readonly cwd?: string | undefined;
    /** `inherit` shows what the server writes to its standard error. Default `ignore`. */
    readonly stderr?: 'inherit' | 'ignore' | undefined;
  };
  /** Has no effect, as in the ADK. */
  timeout?: number | undefined;
}

/** The connection of programs that were written for `@google/adk` to an MCP server over HTTP. */
export interface StreamableHTTPConnectionParams {
  type: 'StreamableHTTPConnectionParams';
  /** Address of the server's MCP endpoint, `https://` or `http://`. */
  url: string;
  /** Headers of every request. `transportOptions` replaces it. */
  header?: Readonly<Record<string, unknown>> | undefined;
  /** Has no effect, as in the ADK. */
  timeout?: number | undefined;
  /** Has no effect, as in the ADK. */
  sseReadTimeout?: number | undefined;
  /** True tells the server that its session ends when the connection is closed. Default true. */
  terminateOnClose?: boolean | undefined;
  transportOptions?:
    | {
        /** Only `headers` is read. */
        readonly requestInit?: RequestInit | undefined;
        readonly fetch?: ((url: string | URL, init?: RequestInit) => Promise<Response>) | undefined;
      }
    | undefined;
}

/** The ways in which programs that were written for `@google/adk` reach an MCP server. */
export type MCPConnectionParams = StdioConnectionParams | StreamableHTTPConnectionParams;

/** A tool, as an MCP server describes it. */
export interface MCPToolDescription {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** A resource, as an MCP server describes it. */
export interface MCPResource {
  readonly uri: string;
  readonly name: string;
  readonly mimeType?: string | undefined;
}

/** The contents of a resource: its text, or its bytes as base64. */
export interface MCPResourceContents {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  readonly text?: string | undefined;
  readonly blob?: string | undefined;
}

/** A session with an MCP server: the members of the `Client` of `@modelcontextprotocol/client` that programs use most. */
export interface MCPSession {
  listTools(): Promise<{ readonly tools: readonly MCPToolDescription[] }>;
  callTool(params: {
    readonly name: string;
    readonly arguments?: Record<string, unknown>;
  }): Promise<Readonly<Record<string, unknown>>>;
  listResources(): Promise<{ readonly resources: readonly MCPResource[] }>;
  readResource(params: { readonly uri: string }): Promise<{ readonly contents: readonly MCPResourceContents[] }>;
  close(): Promise<void>;
}

/**
 * Opens sessions with an MCP server. An agent needs none: it has an `MCPToolset`.
 *
 * @example
 * const manager = new MCPSessionManager({ type: 'StreamableHTTPConnectionParams', url: 'https://mcp.example.com/mcp' });
 * const session = await manager.createSession();
 * const { tools } = await session.listTools();
 * await manager.closeSession(session);
 */
export class MCPSessionManager {
  readonly #params: MCPConnectionParams;
  readonly #sessions = new Set<MCPSession>();

  /** @throws ConfigurationError for a value that is not an object */
  constructor(connectionParams: MCPConnectionParams) {
    const write = "new MCPSessionManager({ type: 'StreamableHTTPConnectionParams', url })";
    requireOptions('MCPSessionManager', connectionParams, write);
    this.#params = connectionParams;
  }

  /** Connects to the server. @throws ConfigurationError for invalid params, MCPConnectionError if the server is unreachable */
  async createSession(): Promise<MCPSession> {
    const session = await openSession(this.#params);
    this.#sessions.add(session);
    return session;
  }

  /** Ends a session. A session of another manager is left alone. */
  async closeSession(session: MCPSession): Promise<void> {
    if (this.#sessions.delete(session)) await session.close();
  }

  getActiveSessions(): MCPSession[] {
    return [...this.#sessions];
  }
}

/**
 * A tool of an MCP server for programs that were written for `@google/adk`: it opens a session for each call. The tools
 * of an `MCPToolset` share a connection, and are `instanceof MCPTool` as well.
 *
 * @example
 * const add = (tool: MCPToolDescription, manager: MCPSessionManager): MCPTool => new MCPTool({ ...tool, name: 'plus' }, manager, 'add');
 */
export class AdkMCPTool extends BaseTool {
  /** The name of the class in error messages. */
  static override readonly name: string = 'MCPTool';
  readonly #description: MCPToolDescription;
  readonly #manager: MCPSessionManager;
  readonly #serverToolName: string;

  /**
   * @param originalName The tool's name at the server. Default: `mcpTool.name`.
   * @throws ConfigurationError for a name that models do not accept
   */
  constructor(mcpTool: MCPToolDescription, mcpSessionManager: MCPSessionManager, originalName?: string) {
    const isTool = isRecord(mcpTool) && isRecord(mcpSessionManager);
    requireArgument(
      isTool,
      'MCPTool',
      'a tool of a server and a session manager',
      mcpTool,
      'new MCPTool(tool, manager)',
    );
    super({ name: mcpTool.name, description: mcpTool.description ?? '' });
    this.#description = mcpTool;
    this.#manager = mcpSessionManager;
    this.#serverToolName = originalName ?? mcpTool.name;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && '~eventloom.mcpTool' in value;
  }

  get '~eventloom.mcpTool'(): true {
    return true;
  }

  override _getDeclaration(): FunctionDeclaration {
    const { name, description } = this;
    return { name, description, parametersJsonSchema: this.#description.inputSchema };
  }

  /** Returns the answer of the server as it is. */
  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    const session = await this.#manager.createSession();
    try {
      return await session.callTool({ name: this.#serverToolName, arguments: args });
    } finally {
      await this.#manager.closeSession(session);
    }
  }
}

/**
 * The `MCPToolset` for programs that were written for `@google/adk`: that of `@eventloom/mcp`, with the parameters of
 * the ADK. The client of the protocol is loaded when the toolset is first used. Tools return what those of
 * `@eventloom/mcp` return: `{ result }` for a text, and images as images.
 *
 * @example
 * const toolset = new MCPToolset({ type: 'StreamableHTTPConnectionParams', url: 'https://mcp.example.com/mcp' }, ['search']);
 * const agent = new LlmAgent({ name: 'helper', model: 'gemini-flash-latest', tools: [toolset] });
 */
export class AdkMCPToolset extends BaseToolset {
  /** Name that errors show, as the program imports it. */
  static override readonly name: string = 'MCPToolset';
  readonly #params: MCPConnectionParams;
  readonly #sessions: MCPSessionManager;
  #toolset: MCPToolset | undefined;

  /**
   * @param toolFilter The tools to offer: a list of names, with or without the prefix, or a function. Default: all.
   * @param prefix Text before the names of the tools: `prefix_name`. Default: none.
   */
  constructor(connectionParams: MCPConnectionParams, toolFilter: ToolPredicate | string[] = [], prefix?: string) {
    if (!isRecord(connectionParams) || !isKind(connectionParams['type']))
      throw new ConfigurationError(
        "MCPToolset: expected params such as { type: 'StreamableHTTPConnectionParams', url }, or { type: 'StdioConnectionParams', serverParams: { command } }",
      );
    super(toolFilter, prefix);
    this.#params = connectionParams;
    this.#sessions = new MCPSessionManager(connectionParams);
  }

  override get version(): number | undefined {
    return this.#toolset?.version;
  }

  /**
   * Lists the tools of the server for the user of the context.
   * @throws ConfigurationError for invalid params, MCPConnectionError if the server is unreachable, MCPProtocolError if it refuses
   */
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    this.#toolset ??= createToolset(this.#params, this.toolFilter, this.prefix);
    return this.#toolset.getTools(context);
  }

  /** Lists the names of the server's resources. */
  async listResources(): Promise<string[]> {
    return (await this.#listResources()).map(({ name }) => name);
  }

  /** Returns the description of the resource with this name. @throws ConfigurationError if there is none */
  async getResourceInfo(name: string): Promise<MCPResource> {
    const resource = (await this.#listResources()).find((each) => each.name === name);
    if (!resource)
      throw new ConfigurationError(
        `MCPToolset: the server has no resource ${JSON.stringify(name)}; await listResources() for those that there are`,
      );
    return resource;
  }

  /** Reads the resource with this name. @throws ConfigurationError if there is none */
  async readResource(name: string): Promise<readonly MCPResourceContents[]> {
    const { uri } = await this.getResourceInfo(name);
    return this.#inSession(async (session) => (await session.readResource({ uri })).contents);
  }

  /** Lets the process end while no run is active. The connections stay open for the next run. */
  override async suspend(): Promise<void> {
    await this.#toolset?.suspend();
  }

  /** Closes all connections. The next use connects again. */
  override async close(): Promise<void> {
    await this.#toolset?.close();
  }

  async #listResources(): Promise<readonly MCPResource[]> {
    return this.#inSession(async (session) => (await session.listResources()).resources);
  }

  async #inSession<T>(use: (session: MCPSession) => Promise<T>): Promise<T> {
    const session = await this.#sessions.createSession();
    try {
      return await use(session);
    } finally {
      await this.#sessions.closeSession(session);
    }
  }
}

function isKind(type: unknown): boolean {
  return type === 'StdioConnectionParams' || type === 'StreamableHTTPConnectionParams';
}

/** Names of resources in the instruction. */
const MAX_NAMES = 200;

/**
 * A tool with which the model reads the resources of an MCP server by their names. Their contents are in the next
 * request only, and in no event.
 *
 * @example
 * const toolset = new MCPToolset({ type: 'StreamableHTTPConnectionParams', url: 'https://mcp.example.com/mcp' });
 * const agent = new LlmAgent({ name: 'reader', model: 'gemini-flash-latest', tools: [new LoadMcpResourceTool(toolset)] });
 */
export class LoadMcpResourceTool extends BaseTool {
  readonly #toolset: AdkMCPToolset;

  constructor(mcpToolset: AdkMCPToolset) {
    super({
      name: 'load_mcp_resource',
      description: 'Loads resources of the MCP server by their names. Their contents are part of the next request.',
      idempotent: true,
    });
    this.#toolset = mcpToolset;
  }

  override _getDeclaration(): FunctionDeclaration {
    const names = { type: 'array', items: { type: 'string' }, description: 'The names of the resources.' };
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: { type: 'object', properties: { resource_names: names } },
    };
  }

  override runAsync({ args }: RunAsyncToolRequest): unknown {
    return {
      resource_names: namesIn(args),
      status: 'The contents are in this request only. To read them later, call load_mcp_resource again.',
    };
  }

  /** Lists the resources in the instruction, and adds the contents of those that the last call named. An unreachable server is logged. */
  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest(request);
    const { llmRequest } = request;
    const names = await this.#toolset.listResources().catch((error: unknown) => warn('list the resources', error));
    if (names && names.length > 0)
      appendInstructions(llmRequest, [
        `The MCP server has these resources: ${JSON.stringify(names.slice(0, MAX_NAMES))}\nCall load_mcp_resource before you answer questions about them.`,
      ]);
    const { functionResponse } = llmRequest.contents.at(-1)?.parts?.[0] ?? {};
    if (functionResponse?.name !== this.name) return;
    for (const name of namesIn(functionResponse.response ?? {})) {
      const read = await this.#toolset.readResource(name).catch((error: unknown) => warn(`read ${name}`, error));
      for (const contents of read ?? [])
        llmRequest.contents.push({ role: 'user', parts: [{ text: `Resource ${name} is:` }, toPart(contents)] });
    }
  }
}

function warn(what: string, error: unknown): undefined {
  getLogger().warn(`LoadMcpResourceTool: cannot ${what}: ${toError(error).message}`);
}

function namesIn(values: Readonly<Record<string, unknown>>): string[] {
  const { resource_names: names } = values;
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

function toPart({ text, blob, mimeType = 'application/octet-stream' }: MCPResourceContents): Part {
  return text === undefined ? { inlineData: { mimeType, data: blob ?? '' } } : { text };
}
