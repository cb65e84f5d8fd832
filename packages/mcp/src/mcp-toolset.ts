import {
  type AuthCredential,
  BaseToolset,
  type BaseTool,
  type BaseToolsetOptions,
  ConfigurationError,
  type Platform,
  type ReadonlyContext,
  systemPlatform,
  type ToolContext,
  type ToolPredicate,
} from '@eventloom/core';
import { checkOptions, describeKind, isToolName, type OptionRules, reportTo } from '@eventloom/core/internal';
import {
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  ProtocolError,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/client';
import type { ActiveCall } from './active-calls.ts';
import { toToolResult } from './call-result.ts';
import { checkHeaders, MCPConnectionParams, StreamableHTTPConnectionParams } from './connection-params.ts';
import { type AnswerQuestion, type CallContinuation, Questions } from './elicitation.ts';
import { MCPAuthorizationError, MCPLimitError, MCPProtocolError } from './errors.ts';
import { MCPConnection, type MCPConnectionOwner } from './mcp-connection.ts';
import { isMCPTool, MCPTool } from './mcp-tool.ts';
import { sample } from './sampling.ts';
import { promptTools, resourceTools } from './server-contents.ts';
import { acceptTools, type ServerTool } from './server-tools.ts';
import { UserAuthorization } from './user-authorization.ts';

/** Options of `MCPToolset`. */
export interface MCPToolsetOptions extends BaseToolsetOptions {
  /** The server: `new StreamableHTTPConnectionParams(…)`, or `new StdioConnectionParams(…)` of `@eventloom/mcp/node`. */
  readonly connectionParams: MCPConnectionParams;
  /** Selects the tools to offer: a list of names, with or without the prefix, or a function. Default: all. */
  readonly toolFilter?: ToolPredicate | readonly string[] | undefined;
  /** Text before the names of the tools: `prefix_name`. Default: none. */
  readonly toolNamePrefix?: string | undefined;
  /**
   * Returns headers of the requests for the user of a run, such as the user's own key. It is called when an agent lists the tools. The headers
   * appear in no event, log or error. Only for HTTP.
   */
  readonly headerProvider?:
    | ((context: ReadonlyContext) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
    | undefined;
  /**
   * The application's OAuth client, for a server that requires the consent of each user:
   * `{ authType: 'oauth2', oauth2: { redirectUri, clientId, clientSecret } }`. Without a `clientId` the client is registered at the server's
   * authorization server. The consent is a request for a credential of a tool call, and the runner's `credentialService` keeps the tokens.
   * Only for HTTP. Default: none.
   */
  readonly authCredential?: AuthCredential | undefined;
  /** Key that the user's tokens are stored under. Default: one of the server's origin and path. */
  readonly credentialKey?: string | undefined;
  /** Address of the client's metadata document, `https://`, for authorization servers that take it in place of a registration. Default: none. */
  readonly clientMetadataUrl?: string | undefined;
  /**
   * True accepts an authorization server whose metadata names another issuer than its address. That weakens the protection against a server
   * that poses as another one. Default false.
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
   * True lets the server ask the person questions during calls (`elicitation`): they become requests for input, and the run waits. Default
   * true.
   */
  readonly allowElicitation?: boolean | undefined;
  /** Answers questions of the server in place of the person, such as those whose answer the application knows. Default: the person is asked. */
  readonly onElicitation?: AnswerQuestion | undefined;
  /** True gives each user a connection of their own, false gives all users the same one. Default true. */
  readonly connectionPerUser?: boolean | undefined;
  /** Maximum number of open connections. The one that was used least recently is closed for a new one. Default 32. */
  readonly maxConnections?: number | undefined;
  /** Maximum number of tools that are offered to an agent. More are an error, because models choose badly among many. Default 128. */
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
  maxConnections: 'number',
  maxTools: 'number',
  name: 'text',
  onUnavailable: 'text',
};

/** A user's connection, and the tools that were made of its list. */
interface UserConnection {
  readonly connection: MCPConnection;
  headers: Readonly<Record<string, string>>;
  /** Id of the run that exchanged the user's consent. */
  consentRun: string | undefined;
  listed: readonly unknown[] | undefined;
  tools: readonly MCPTool[];
}

/**
 * The tools of an MCP server. Each user has one connection, which all of their turns share: it is opened when an agent lists the tools, opened
 * again when the server forgot it or it broke, and closed with the runner. Between turns it does not keep the process alive.
 *
 * The list of tools is read once, and again after the server reported a change. A tool is idempotent if the server says that it only reads
 * (`readOnlyHint`) or may be repeated (`idempotentHint`); a resumed run repeats interrupted calls of such tools only.
 *
 * What the server sends is bounded: names, descriptions, schemas, messages and results.
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
  /** Connections by user; the most recently used one is the last. */
  readonly #connections = new Map<string, UserConnection>();
  #platform: Platform = systemPlatform;
  #version = 0;

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
  }

  /** Changes when a server reports that its tools have changed. */
  override get version(): number {
    return this.#version;
  }

  /** True: a server's tool cannot take the name of another tool. */
  override get skipsTakenNames(): boolean {
    return true;
  }

  /**
   * Lists the tools of the server for the user of the context, and connects if the live connection is not open.
   * @throws MCPConnectionError if the server is unreachable, MCPProtocolError if it refuses, MCPLimitError if it offers too many tools
   */
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    if (context) this.#platform = context.invocationContext.platform;
    const user = this.#connectionOf(this.#userOf(context));
    if (context) user.headers = await this.#headersFor(context);
    const connect = context && (await this.#authorize(user, context));
    try {
      const listed = await user.connection.listTools();
      if (listed !== user.listed) this.#accept(user, listed);
    } catch (error) {
      if (!connect || !MCPAuthorizationError.isInstance(error)) throw error;
      return [connect];
    }
    const tools = user.tools.filter((tool) => this.isToolSelected(tool, context));
    // The call that asked for the consent runs again after it.
    if (connect && user.consentRun === context.invocationId) return [...tools, connect];
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
    for (const { connection } of this.#connections.values()) connection.suspend();
    return Promise.resolve();
  }

  /** Closes all connections. The next use connects again. */
  override async close(): Promise<void> {
    const users = [...this.#connections.values()];
    this.#connections.clear();
    await Promise.all(users.map(({ connection }) => connection.close()));
  }

  #userOf(context: ReadonlyContext | undefined): string {
    return context && this.#options.connectionPerUser !== false ? context.userId : '';
  }

  #connectionOf(userId: string): UserConnection {
    let user = this.#connections.get(userId);
    if (!user) user = this.#createConnection();
    else this.#connections.delete(userId);
    this.#connections.set(userId, user);
    this.#closeLeastUsed();
    return user;
  }

  #createConnection(): UserConnection {
    const connection = new MCPConnection(this.#owner(), () => user.headers);
    const user: UserConnection = { connection, headers: {}, consentRun: undefined, listed: undefined, tools: [] };
    return user;
  }

  #owner(): MCPConnectionOwner {
    const platform = (): Platform => this.#platform;
    const { allowSampling = false, allowElicitation = true } = this.#options;
    return {
      name: this.name,
      params: this.connectionParams,
      allowsSampling: allowSampling,
      allowsElicitation: allowElicitation,
      get platform() {
        return platform();
      },
      toolsChanged: () => void this.#version++,
    };
  }

  /** Closes connections beyond the limit that have no active call. */
  #closeLeastUsed(): void {
    const { maxConnections = 32 } = this.#options;
    for (const [userId, { connection }] of this.#connections) {
      if (this.#connections.size <= maxConnections) return;
      if (connection.isBusy) continue;
      this.#connections.delete(userId);
      this.#platform.background(connection.close());
    }
  }

  async #headersFor(context: ReadonlyContext): Promise<Readonly<Record<string, string>>> {
    const { headerProvider } = this.#options;
    return headerProvider
      ? checkHeaders(`MCPToolset "${this.name}": headerProvider`, await headerProvider(context))
      : {};
  }

  #accept(user: UserConnection, listed: Awaited<ReturnType<MCPConnection['listTools']>>): void {
    const { tools, refused } = acceptTools(this.name, this.prefix, listed);
    user.listed = listed;
    const added = this.#contentTools(user.connection);
    const own = new Set(added.map(({ name }) => name));
    const theirs = tools.filter(({ name }) => !own.has(name));
    const offered = theirs.map(
      (tool) => new MCPTool({ ...tool, call: (args, context) => this.#call(tool, args, context) }),
    );
    user.tools = [...offered, ...added];
    for (const error of refused.slice(0, 10)) reportTo(this.#platform, error);
  }

  /** Creates the tools over the server's resources and prompts. Tools of the server cannot take their names. */
  #contentTools(connection: MCPConnection): MCPTool[] {
    const { useMcpResources, useMcpPrompts } = this.#options;
    const params = {
      nameOf: (name: string) => this.prefixed(name),
      timeoutMs: this.connectionParams.timeoutMs,
      connectionOf: (context: ToolContext) => this.#connectionOf(this.#userOf(context)).connection,
    };
    return [
      ...(useMcpResources === true && connection.has('resources') ? resourceTools(params) : []),
      ...(useMcpPrompts === true && connection.has('prompts') ? promptTools(params) : []),
    ];
  }

  async #call(tool: ServerTool, args: Record<string, unknown>, toolContext: ToolContext): Promise<unknown> {
    const { connection } = this.#connectionOf(this.#userOf(toolContext));
    try {
      return await this.#callAuthorized(connection, tool, args, toolContext);
    } catch (error) {
      if (!MCPAuthorizationError.isInstance(error)) throw error;
      return this.#requestConsent(connection, toolContext, error);
    }
  }

  async #callAuthorized(
    connection: MCPConnection,
    tool: ServerTool,
    args: Record<string, unknown>,
    toolContext: ToolContext,
  ): Promise<unknown> {
    const controller = new AbortController();
    const call: ActiveCall = {
      toolContext,
      questions: new Questions(this.name, toolContext, this.#options.onElicitation),
      interrupt: () => controller.abort(),
      isUnclear: false,
    };
    const signal = AbortSignal.any([toolContext.abortSignal, controller.signal]);
    const result = await connection.calls.during(call, () => this.#exchange(connection, tool, args, call, signal));
    if (!call.questions.areOpen) return call.isUnclear ? this.#unclear(result) : result;
    call.questions.ask();
    return undefined;
  }

  /**
   * Prepares the authorization of the context's user: exchanges an answer of the user. Returns the tool that asks for the consent; undefined
   * if the toolset asks for none.
   */
  async #authorize(user: UserConnection, context: ReadonlyContext): Promise<MCPTool | undefined> {
    const { authCredential, clientMetadataUrl, skipIssuerMetadataValidation = false, connectionParams } = this.#options;
    if (!authCredential || !(connectionParams instanceof StreamableHTTPConnectionParams)) return undefined;
    const { appName, userId, invocationId } = context;
    const service = context.invocationContext.invocation.credentialService;
    if (!service)
      throw new ConfigurationError(
        `MCPToolset "${this.name}": authCredential needs a credential service; write credentialService: new InMemoryCredentialService() in the runner's options`,
      );
    const { url } = connectionParams;
    const { credentialKey = `mcp:${url.origin}${url.pathname}` } = this.#options;
    user.connection.authorization ??= new UserAuthorization({
      server: this.name,
      url,
      client: authCredential.oauth2 ?? {},
      clientMetadataUrl,
      skipIssuerMetadataValidation,
      service,
      key: { appName, userId, credentialKey },
      platform: this.#platform,
      fetch: (to, init) => connectionParams['~fetchMetadata'](to, init),
    });
    try {
      if (await user.connection.authorization.acceptAnswer()) user.consentRun = invocationId;
    } catch (error) {
      if (!MCPAuthorizationError.isInstance(error)) throw error;
      reportTo(this.#platform, error);
    }
    return this.#connectTool(user.connection);
  }

  /** Creates the tool that stands for those of a server for which the user has not consented. */
  #connectTool(connection: MCPConnection): MCPTool {
    const name = `connect_${this.name.replaceAll(/\W/g, '_')}`.slice(0, 64);
    return new MCPTool({
      name,
      serverToolName: name,
      description: `Connects to "${this.name}", whose tools need the user's consent. Call it before a task that they may help with.`,
      inputSchema: { type: 'object', properties: {} },
      idempotent: true,
      annotations: {},
      call: async (_, toolContext) => {
        try {
          const listed = await connection.listTools();
          this.#version++;
          return { connected: true, tools: listed.length };
        } catch (error) {
          if (!MCPAuthorizationError.isInstance(error)) throw error;
          return this.#requestConsent(connection, toolContext, error);
        }
      },
    });
  }

  /** Asks the user for the consent that a call needs. */
  async #requestConsent(
    { authorization }: MCPConnection,
    toolContext: ToolContext,
    error: MCPAuthorizationError,
  ): Promise<unknown> {
    const asked = toolContext.requests.filter(({ kind }) => kind === 'credential').length;
    const request = asked < MAX_CONSENTS ? await authorization?.request() : undefined;
    if (!request) throw error;
    toolContext.requestCredential(request);
    return undefined;
  }

  /** Sends a call, and again with the answers that the server requires. */
  async #exchange(
    connection: MCPConnection,
    { serverToolName: name, definition: toolDefinition, idempotent }: ServerTool,
    args: Record<string, unknown>,
    { toolContext, questions }: ActiveCall,
    signal: AbortSignal,
  ): Promise<unknown> {
    const progress = new LatestOnly((value: unknown) => toolContext.emit(value));
    let continuation = questions.continuation();
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const result: CallToolResult | InputRequiredResult = await connection
        .send(
          ({ client }, { options, meta }) =>
            client.callTool(
              { name, arguments: args, ...meta, ...continuation },
              { ...options, toolDefinition, allowInputRequired: true },
            ),
          {
            isRepeatable: idempotent,
            timeoutMs: this.connectionParams.callTimeoutMs,
            signal,
            onProgress: (value) => progress.add(value),
            traceHeaders: toolContext.traceHeaders,
          },
        )
        .catch(async (error: unknown) => {
          // The result of a call whose questions are still open does not count: the call is sent again after the answers.
          toolContext.abortSignal.throwIfAborted();
          if (questions.areOpen || (await this.#asksToOpen(error, questions))) return { content: [] };
          throw error;
        });
      await progress.emitted;
      if (!isInputRequiredResult(result)) return toToolResult(result);
      continuation = await this.#answersTo(result, toolContext, questions);
      if (!continuation) return undefined;
      if (!continuation.inputResponses) await this.#pause(signal);
    }
    throw new MCPLimitError(`MCP server "${this.name}": requires input more than ${MAX_ROUNDS} times in a call`);
  }

  /** True if a call failed because the person has to open addresses first, which are then asked. */
  async #asksToOpen(error: unknown, questions: Questions): Promise<boolean> {
    const { allowElicitation = true } = this.#options;
    const { cause } = error instanceof Error ? error : {};
    if (!allowElicitation || !(cause instanceof UrlElicitationRequiredError)) return false;
    for (const question of cause.elicitations.slice(0, MAX_ROUNDS)) await questions.answerTo(question);
    return questions.areOpen;
  }

  async #answersTo(
    required: InputRequiredResult,
    toolContext: ToolContext,
    questions: Questions,
  ): Promise<CallContinuation | undefined> {
    const { allowSampling = false, allowElicitation = true } = this.#options;
    const methods = Object.values(required.inputRequests ?? {}).map(({ method }) => method);
    const forbidden =
      (!allowElicitation && methods.includes('elicitation/create')) ||
      (!allowSampling && methods.includes('sampling/createMessage'));
    if (forbidden)
      throw new MCPProtocolError(`MCP server "${this.name}": requires input that it was not allowed to ask for`);
    try {
      return await questions.answersTo(required, (params) => sample(params, toolContext));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new MCPProtocolError(`MCP server "${this.name}": requires input that cannot be given: ${error.message}`, {
        cause: error,
      });
    }
  }

  /** Waits before a call is sent again to a server that is not ready for it. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#platform.schedule(RETRY_MS, resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    cancel();
  }

  #unclear(result: unknown): unknown {
    return {
      error: `MCP server "${this.name}" asked the user something during several calls at once, so the user was not asked. Call its tools one after the other.`,
      result,
    };
  }
}

/** Maximum number of times that a call asks for the user's consent. */
const MAX_CONSENTS = 3;
/** Maximum number of times that a server may require input in one run of a call. */
const MAX_ROUNDS = 10;
/** Time before a call is sent again to a server that is not ready for it. */
const RETRY_MS = 250;

/** Passes on progress as it is read: while one message waits for its reader, only the newest of those that follow is kept. */
class LatestOnly {
  /** Resolves when nothing is waiting; undefined before the first message. */
  emitted: Promise<void> | undefined;
  readonly #emit: (value: unknown) => Promise<boolean>;
  #waiting: { readonly value: unknown } | undefined;
  #isEmitting = false;

  constructor(emit: (value: unknown) => Promise<boolean>) {
    this.#emit = emit;
  }

  add(value: unknown): void {
    this.#waiting = { value };
    if (!this.#isEmitting) this.emitted = this.#emitAll();
  }

  async #emitAll(): Promise<void> {
    this.#isEmitting = true;
    for (let next = this.#waiting; next; next = this.#waiting) {
      this.#waiting = undefined;
      await this.#emit(next.value);
    }
    this.#isEmitting = false;
  }
}

function checkToolsetOptions(options: MCPToolsetOptions): void {
  checkOptions('MCPToolset', OPTIONS, options, {
    prefix: 'write toolNamePrefix',
    url: 'write connectionParams: new StreamableHTTPConnectionParams({ url })',
    command:
      "write connectionParams: new StdioConnectionParams({ serverParams: { command } }) of '@eventloom/mcp/node'",
  });
  const {
    connectionParams,
    toolNamePrefix,
    maxConnections = 1,
    maxTools = 1,
    headerProvider,
    authCredential,
  } = options;
  if (!(connectionParams instanceof MCPConnectionParams))
    throw new ConfigurationError(
      `MCPToolset: connectionParams must be new StreamableHTTPConnectionParams({ url }), or new StdioConnectionParams({ serverParams }) of '@eventloom/mcp/node', is ${describeKind(connectionParams)}`,
    );
  if (
    toolNamePrefix !== undefined &&
    toolNamePrefix !== '' &&
    !(isToolName(toolNamePrefix) && toolNamePrefix.length <= 32)
  )
    throw new ConfigurationError(
      `MCPToolset: toolNamePrefix ${JSON.stringify(toolNamePrefix)} must be at most 32 letters, digits, _ . : - and start with a letter or _`,
    );
  for (const [name, value] of Object.entries({ maxConnections, maxTools }))
    if (!Number.isInteger(value) || value < 1)
      throw new ConfigurationError(`MCPToolset: ${name} must be a positive integer, is ${describeKind(value)}`);
  if (authCredential) {
    if (!(connectionParams instanceof StreamableHTTPConnectionParams))
      throw new ConfigurationError('MCPToolset: authCredential is only for StreamableHTTPConnectionParams');
    if (authCredential.authType !== 'oauth2' || typeof authCredential.oauth2?.redirectUri !== 'string')
      throw new ConfigurationError(
        "MCPToolset: authCredential must be { authType: 'oauth2', oauth2: { redirectUri: 'https://…' } }; for a key or a token write headers of the connectionParams",
      );
    if (options.connectionPerUser === false)
      throw new ConfigurationError(
        'MCPToolset: authCredential needs a connection for each user; leave connectionPerUser out',
      );
  }
  if (headerProvider !== undefined && typeof headerProvider !== 'function')
    throw new ConfigurationError(`MCPToolset: headerProvider must be a function, is ${describeKind(headerProvider)}`);
}

/** Returns a server's name as the name of a toolset. */
function toName(serverName: string): string {
  const plain = serverName.slice(0, 128).replaceAll(/[^\w.:-]/g, '_');
  const isName: boolean = isToolName(plain);
  return isName ? plain : `_${plain}`.slice(0, 128);
}
