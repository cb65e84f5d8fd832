import {
  type AuthCredential,
  BaseToolset,
  type BaseTool,
  type BaseToolsetOptions,
  ConfigurationError,
  nearestNames,
  type ReadonlyContext,
  type ToolPredicate,
} from '@eventloom/core';
import { checkOptions, describeKind, integer, isToolName, type OptionRules, reportTo } from '@eventloom/core/internal';
import { MCPConnectionParams, StreamableHTTPConnectionParams } from './connection-params.ts';
import type { AnswerQuestion } from './elicitation.ts';
import { MCPAuthorizationError, MCPLimitError } from './errors.ts';
import type { MCPConnection } from './mcp-connection.ts';
import { isMCPTool, MCPTool } from './mcp-tool.ts';
import { ServerCalls } from './server-calls.ts';
import { promptTools, resourceTools } from './server-contents.ts';
import { acceptTools } from './server-tools.ts';
import { type UserConnection, UserConnections } from './user-connections.ts';

/** Options of `MCPToolset`. */
export interface MCPToolsetOptions extends BaseToolsetOptions {
  /** The server: `new StreamableHTTPConnectionParams(…)`, or `new StdioConnectionParams(…)` of `@eventloom/mcp/node`. */
  readonly connectionParams: MCPConnectionParams;
  /** Selects the tools to offer: a list of names, with or without the prefix, or a function. Default: all. */
  readonly toolFilter?: ToolPredicate | readonly string[] | undefined;
  /** Text before the names of the tools: `prefix_name`. Default: none. */
  readonly toolNamePrefix?: string | undefined;
  /**
   * Returns headers of the requests for the user of a run, such as the user's own key. It is called when an agent lists
   * the tools. The headers appear in no event, log or error. Only for HTTP.
   */
  readonly headerProvider?:
    | ((context: ReadonlyContext) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
    | undefined;
  /**
   * The application's OAuth client, for a server that requires the consent of each user: `{ authType: 'oauth2', oauth2: { redirectUri,
   * clientId, clientSecret } }`. Without a `clientId` the client is registered at the server's authorization server. A tool call asks for
   * the consent with a request for a credential, and the runner's `credentialService` keeps the tokens. Only for HTTP. Default: none.
   */
  readonly authCredential?: AuthCredential | undefined;
  /** Key that the user's tokens are stored under. Default: made from the server's origin and path. */
  readonly credentialKey?: string | undefined;
  /**
   * Address (`https://`) of the client's metadata document, for authorization servers that accept it instead of a registration. Default:
   * none.
   */
  readonly clientMetadataUrl?: string | undefined;
  /**
   * True accepts an authorization server whose metadata names another issuer than its address. This weakens the protection against servers
   * that pose as another one. Default false.
   */
  readonly skipIssuerMetadataValidation?: boolean | undefined;
  /** True adds the tools `list_mcp_resources` and `load_mcp_resource`, if the server has resources. Default false. */
  readonly useMcpResources?: boolean | undefined;
  /** True adds the tools `list_mcp_prompts` and `get_mcp_prompt`, if the server has prompts. Default false. */
  readonly useMcpPrompts?: boolean | undefined;
  /**
   * True lets the server use the model of the agent that calls it (`sampling`). Each request counts towards `maxLlmCalls`. Default false: a
   * server would spend the application's tokens.
   */
  readonly allowSampling?: boolean | undefined;
  /**
   * True lets the server ask the person questions during calls (`elicitation`). The questions become requests for input, and the run waits.
   * Default true.
   */
  readonly allowElicitation?: boolean | undefined;
  /** Answers the server's questions in place of the person where the application knows the answer. Default: the person is asked. */
  readonly onElicitation?: AnswerQuestion | undefined;
  /** True gives each user a connection of their own, false gives all users the same one. Default true. */
  readonly connectionPerUser?: boolean | undefined;
  /** Maximum number of open connections. The least recently used one is closed for a new one. Default 32. */
  readonly maxConnections?: number | undefined;
  /**
   * Maximum number of tools that are offered to an agent. A longer list is an error, because models choose badly among many tools. Default
   * 128.
   */
  readonly maxTools?: number | undefined;
}

const OPTIONS: OptionRules<MCPToolsetOptions> = {
  connectionParams: 'object',
  toolFilter: 'function or list',
  toolNamePrefix: 'text',
  headerProvider: 'function',
  authCredential: 'object',
  credentialKey: 'text',
  clientMetadataUrl: 'text',
  skipIssuerMetadataValidation: 'flag',
  useMcpResources: 'flag',
  useMcpPrompts: 'flag',
  allowSampling: 'flag',
  allowElicitation: 'flag',
  onElicitation: 'function',
  connectionPerUser: 'flag',
  maxConnections: integer(1),
  maxTools: integer(1),
  name: 'text',
  onUnavailable: 'text',
};

/**
 * The tools of an MCP server. Each user has one connection, which all of their turns share. It is opened when an agent lists the tools,
 * opened again after the server forgot it or it broke, and closed with the runner. Between turns it does not keep the process alive.
 *
 * The list of tools is read once, and again after the server reported a change. A tool is idempotent if the server says that it only reads
 * (`readOnlyHint`) or may be repeated (`idempotentHint`); a resumed run repeats interrupted calls of such tools only.
 *
 * Everything that the server sends is limited in size: names, descriptions, schemas, messages and results.
 *
 * @example
 * const toolset = new MCPToolset({
 *   connectionParams: new StreamableHTTPConnectionParams({ url: 'https://mcp.example.com/mcp' }),
 *   toolFilter: ['search', 'read_page'],
 *   toolNamePrefix: 'docs',
 *   onUnavailable: 'skip',
 * });
 */
export class MCPToolset extends BaseToolset {
  readonly connectionParams: MCPConnectionParams;
  readonly #options: MCPToolsetOptions;
  readonly #users: UserConnections;
  #version = 0;
  /** Messages about tools of the latest list that are not offered. Each is reported once, not in every turn. */
  #reported: ReadonlySet<string> = new Set();

  /** @throws ConfigurationError for missing or unknown options, and for invalid values */
  constructor(options: MCPToolsetOptions) {
    checkToolsetOptions(options);
    const { connectionParams, toolFilter, toolNamePrefix, name, onUnavailable } = options;
    super(toolFilter, toolNamePrefix, {
      name: name ?? toName(connectionParams.serverName),
      ...(onUnavailable !== undefined && { onUnavailable }),
    });
    this.connectionParams = connectionParams;
    this.#options = options;
    this.#users = new UserConnections(this.name, options, () => void this.#version++);
  }

  /** Changes when a server reports that its tools have changed. */
  override get version(): number {
    return this.#version;
  }

  /** True: a server's tool whose name is taken by another tool is left out. */
  override get skipsTakenNames(): boolean {
    return true;
  }

  /**
   * Lists the tools of the server for the user of the context, and connects if the live connection is not open.
   * @throws MCPConnectionError if the server is unreachable, MCPProtocolError if it refuses, MCPLimitError if it offers too many tools
   */
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    if (context) this.#users.resume();
    const user = await this.#users.prepare(context);
    const connect = context && this.#users.asksForConsent ? this.#connectTool() : undefined;
    try {
      const listed = await user.connection.listTools();
      if (listed !== user.listed) this.#accept(user, listed);
    } catch (error) {
      if (!connect || !MCPAuthorizationError.isInstance(error)) throw error;
      return [connect];
    } finally {
      this.#users.rest(user.connection);
    }
    const tools = user.tools.filter((tool) => this.isToolSelected(tool, context));
    // The call that asked for the consent runs again after it.
    if (connect && user.consentRun === context?.invocationId) return [...tools, connect];
    const { maxTools = 128 } = this.#options;
    if (tools.length > maxTools)
      throw new MCPLimitError(
        `MCP server "${this.name}": offers ${tools.length} tools; at most ${maxTools} are offered to an agent; select some with toolFilter, or raise maxTools`,
      );
    return tools;
  }

  /** Compares names in a `toolFilter` with the name for models and with the name at the server. */
  protected override isToolSelected(tool: BaseTool, context?: ReadonlyContext): boolean {
    if (super.isToolSelected(tool, context)) return true;
    const { toolFilter } = this;
    return typeof toolFilter !== 'function' && isMCPTool(tool) && toolFilter.includes(tool.serverToolName);
  }

  /** Lets the process end while no run is active. The connections stay open for the next run. */
  override suspend(): Promise<void> {
    this.#users.suspend();
    return Promise.resolve();
  }

  /** Closes all connections. The next use connects again. */
  override close(): Promise<void> {
    return this.#users.close();
  }

  #accept(user: UserConnection, listed: Awaited<ReturnType<MCPConnection['listTools']>>): void {
    const { name, prefix } = this;
    const sendsHeaders =
      this.connectionParams instanceof StreamableHTTPConnectionParams && user.connection.isOfRevision2026;
    const { tools, refused } = acceptTools({ name, prefix, sendsHeaders }, listed);
    user.listed = listed;
    const added = this.#contentTools(user.connection);
    const own = new Set(added.map(({ name }) => name));
    const theirs = tools.filter((tool) => !own.has(tool.name));
    const { callTimeoutMs } = this.connectionParams;
    const { allowSampling, allowElicitation, onElicitation } = this.#options;
    const { platform } = this.#users;
    const params = { server: this.name, callTimeoutMs, platform, allowSampling, allowElicitation, onElicitation };
    const calls = new ServerCalls(params);
    const offered = theirs.map(
      (tool) =>
        new MCPTool({
          ...tool,
          call: (args, context) =>
            this.#users.use(context, (connection) => calls.call(connection, tool, args, context)),
        }),
    );
    user.tools = [...offered, ...added];
    const known = this.#reported;
    const errors = [...refused, ...this.#unknownNames(user.tools)].slice(0, 10);
    this.#reported = new Set(errors.map(({ message }) => message));
    for (const error of errors) if (!known.has(error.message)) reportTo(platform, error);
  }

  /** Returns an error for each name in the `toolFilter` that no tool has. */
  #unknownNames(tools: readonly BaseTool[]): ConfigurationError[] {
    const { toolFilter } = this;
    if (typeof toolFilter === 'function') return [];
    const names = tools.flatMap((tool) => (isMCPTool(tool) ? [tool.serverToolName, tool.name] : [tool.name]));
    return toolFilter
      .filter((name) => !names.includes(name))
      .map((name) => {
        const similar = nearestNames(name, [...new Set(names)]).map((each) => JSON.stringify(each));
        const advice = similar.length > 0 ? `did you mean ${similar.join(', ')}?` : 'remove it';
        return new ConfigurationError(
          `MCP server "${this.name}": toolFilter names ${JSON.stringify(name)}, and the server has no tool of that name; ${advice}`,
        );
      });
  }

  /** Creates the tools over the server's resources and prompts. Tools of the server cannot take their names. */
  #contentTools(connection: MCPConnection): MCPTool[] {
    const { useMcpResources, useMcpPrompts } = this.#options;
    const params = {
      nameOf: (name: string) => this.prefixed(name),
      timeoutMs: this.connectionParams.timeoutMs,
      users: this.#users,
    };
    return [
      ...(useMcpResources === true && connection.has('resources') ? resourceTools(params) : []),
      ...(useMcpPrompts === true && connection.has('prompts') ? promptTools(params) : []),
    ];
  }

  /** Creates the tool that is offered in place of the server's tools until the user has consented. */
  #connectTool(): MCPTool {
    const name = `connect_${this.name.replaceAll(/\W/g, '_')}`.slice(0, 64);
    return new MCPTool({
      name,
      serverToolName: name,
      description: `Connects to "${this.name}", whose tools need the user's consent. Call it before a task that they may help with.`,
      inputSchema: { type: 'object', properties: {} },
      idempotent: true,
      annotations: {},
      call: (_, toolContext) =>
        this.#users.use(toolContext, async (connection) => {
          const listed = await connection.listTools();
          this.#version++;
          return { connected: true, tools: listed.length };
        }),
    });
  }
}

const CONNECTION = 'new StreamableHTTPConnectionParams({ url })';
const HINTS = {
  prefix: 'write toolNamePrefix',
  url: `write connectionParams: ${CONNECTION}`,
  command: "write connectionParams: new StdioConnectionParams({ serverParams: { command } }) of '@eventloom/mcp/node'",
};

function checkToolsetOptions(options: MCPToolsetOptions): void {
  if (options instanceof MCPConnectionParams)
    throw new ConfigurationError(
      'MCPToolset: got connection parameters; write new MCPToolset({ connectionParams: params })',
    );
  checkOptions('MCPToolset', OPTIONS, options, HINTS, `new MCPToolset({ connectionParams: ${CONNECTION} })`);
  const { connectionParams, toolNamePrefix, authCredential } = options;
  if (!(connectionParams instanceof MCPConnectionParams))
    throw new ConfigurationError(
      `MCPToolset: connectionParams: expected connection parameters, got ${describeKind(connectionParams)}; write connectionParams: ${CONNECTION}, or new StdioConnectionParams({ serverParams }) of '@eventloom/mcp/node'`,
    );
  if (
    toolNamePrefix !== undefined &&
    toolNamePrefix !== '' &&
    !(isToolName(toolNamePrefix) && toolNamePrefix.length <= 32)
  )
    throw new ConfigurationError(
      `MCPToolset: toolNamePrefix: expected at most 32 letters, digits, _ . : and -, beginning with a letter or _, got ${JSON.stringify(toolNamePrefix.slice(0, 60))}; write toolNamePrefix: 'files_'`,
    );
  if (authCredential) {
    if (!(connectionParams instanceof StreamableHTTPConnectionParams))
      throw new ConfigurationError(
        'MCPToolset: authCredential works only over HTTP; leave it out, or write connectionParams: new StreamableHTTPConnectionParams({ url })',
      );
    if (authCredential.authType !== 'oauth2' || typeof authCredential.oauth2?.redirectUri !== 'string')
      throw new ConfigurationError(
        "MCPToolset: authCredential: expected the type oauth2 with a redirectUri; write authCredential: { authType: 'oauth2', oauth2: { redirectUri: 'https://…' } }, or for a key or a token write headers in the connectionParams",
      );
    if (options.connectionPerUser === false)
      throw new ConfigurationError(
        'MCPToolset: authCredential needs a connection for each user; leave out connectionPerUser: false',
      );
  }
}

/** Returns a server's name as the name of a toolset. */
function toName(serverName: string): string {
  const plain = serverName.slice(0, 128).replaceAll(/[^\w.:-]/g, '_');
  const isName: boolean = isToolName(plain);
  return isName ? plain : `mcp_${plain}`.slice(0, 128);
}
