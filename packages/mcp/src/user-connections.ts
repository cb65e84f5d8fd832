import {
  ConfigurationError,
  type Platform,
  type ReadonlyContext,
  systemPlatform,
  type ToolContext,
} from '@eventloom/core';
import { reportTo } from '@eventloom/core/internal';
import { checkHeaders, StreamableHTTPConnectionParams } from './connection-params.ts';
import { MCPAuthorizationError } from './errors.ts';
import { MCPConnection } from './mcp-connection.ts';
import type { MCPTool } from './mcp-tool.ts';
import type { MCPToolsetOptions } from './mcp-toolset.ts';
import { UserAuthorization } from './user-authorization.ts';

/** Maximum number of times that a call asks for the user's consent. */
const MAX_CONSENTS = 3;

/** A user's connection, and the tools made from its list. */
export interface UserConnection {
  readonly connection: MCPConnection;
  headers: Readonly<Record<string, string>>;
  /** Id of the run that exchanged the user's consent. */
  consentRun: string | undefined;
  listed: readonly unknown[] | undefined;
  tools: readonly MCPTool[];
}

/** The connections of a toolset: one for each user, with the user's headers and consent. */
export class UserConnections {
  readonly #name: string;
  readonly #options: MCPToolsetOptions;
  readonly #toolsChanged: () => void;
  /** Connections by user; the most recently used one is the last. */
  readonly #users = new Map<string, UserConnection>();
  #platform: Platform = systemPlatform;
  #isInRun = false;

  /** @param toolsChanged called when a server reports that its tools have changed */
  constructor(name: string, options: MCPToolsetOptions, toolsChanged: () => void) {
    this.#name = name;
    this.#options = options;
    this.#toolsChanged = toolsChanged;
  }

  /** The platform of the latest run. */
  get platform(): Platform {
    return this.#platform;
  }

  /** True if the toolset asks the users for their consent. */
  get asksForConsent(): boolean {
    const { authCredential, connectionParams } = this.#options;
    return authCredential !== undefined && connectionParams instanceof StreamableHTTPConnectionParams;
  }

  /**
   * Returns the connection of a context's user with the current headers, and exchanges the user's answer for tokens. Without a context,
   * returns the connection that belongs to no user.
   */
  async prepare(context: ReadonlyContext | undefined): Promise<UserConnection> {
    if (context) this.#platform = context.invocationContext.platform;
    const user = this.#userOf(context) ?? this.#create(context);
    if (!context) return user;
    const { headerProvider } = this.#options;
    user.headers = headerProvider
      ? checkHeaders(`MCPToolset "${this.#name}": headerProvider`, await headerProvider(context))
      : {};
    await this.#authorize(user, context);
    return user;
  }

  /**
   * Runs work for a tool call on the connection of its user. If the work needs the user's consent, asks for it and returns undefined; the
   * call runs again after the answer.
   */
  async use<T>(toolContext: ToolContext, work: (connection: MCPConnection) => Promise<T>): Promise<T | undefined> {
    // The connection is prepared again if it was closed in favour of another user's.
    const { connection } = this.#userOf(toolContext) ?? (await this.prepare(toolContext));
    try {
      return await work(connection);
    } catch (error) {
      if (!MCPAuthorizationError.isInstance(error)) throw error;
      const asked = toolContext.requests.filter(({ kind }) => kind === 'credential').length;
      const request = asked < MAX_CONSENTS ? await connection.authorization?.request() : undefined;
      if (!request) throw error;
      toolContext.requestCredential(request);
      return undefined;
    } finally {
      this.rest(connection);
    }
  }

  /** Keeps the process alive between the calls of a run. */
  resume(): void {
    this.#isInRun = true;
  }

  /**
   * Lets the process end after the work of a program that uses the toolset outside of runs, unless the connection has an active call. A
   * connection over HTTP does not keep the process alive.
   */
  rest(connection: MCPConnection): void {
    if (this.#isInRun || connection.isBusy || this.#options.connectionParams instanceof StreamableHTTPConnectionParams)
      return;
    connection.suspend();
  }

  suspend(): void {
    this.#isInRun = false;
    for (const { connection } of this.#users.values()) connection.suspend();
  }

  async close(): Promise<void> {
    const users = [...this.#users.values()];
    this.#users.clear();
    await Promise.all(users.map(({ connection }) => connection.close()));
  }

  #idOf(context: ReadonlyContext | undefined): string {
    return context && this.#options.connectionPerUser !== false ? context.userId : '';
  }

  /** Returns the connection of a context's user, and marks it as the most recently used; undefined if there is none. */
  #userOf(context: ReadonlyContext | undefined): UserConnection | undefined {
    const id = this.#idOf(context);
    const user = this.#users.get(id);
    if (!user) return undefined;
    this.#users.delete(id);
    this.#users.set(id, user);
    return user;
  }

  #create(context: ReadonlyContext | undefined): UserConnection {
    const platform = (): Platform => this.#platform;
    const { allowSampling = false, allowElicitation = true, connectionParams } = this.#options;
    const owner = {
      name: this.#name,
      params: connectionParams,
      allowsSampling: allowSampling,
      allowsElicitation: allowElicitation,
      get platform() {
        return platform();
      },
      toolsChanged: this.#toolsChanged,
    };
    const connection = new MCPConnection(owner, () => user.headers);
    const user: UserConnection = { connection, headers: {}, consentRun: undefined, listed: undefined, tools: [] };
    this.#users.set(this.#idOf(context), user);
    this.#closeLeastUsed();
    return user;
  }

  /** Closes connections beyond the limit that have no active call. */
  #closeLeastUsed(): void {
    const { maxConnections = 32 } = this.#options;
    for (const [userId, { connection }] of this.#users) {
      if (this.#users.size <= maxConnections) return;
      if (connection.isBusy) continue;
      this.#users.delete(userId);
      this.#platform.background(connection.close());
    }
  }

  /**
   * Prepares the authorization of the context's user: exchanges an answer of the user.
   * @throws ConfigurationError without a credential service
   */
  async #authorize(user: UserConnection, context: ReadonlyContext): Promise<void> {
    const { authCredential, clientMetadataUrl, skipIssuerMetadataValidation = false, connectionParams } = this.#options;
    if (!authCredential || !(connectionParams instanceof StreamableHTTPConnectionParams)) return;
    const { appName, userId, invocationId } = context;
    const service = context.invocationContext.invocation.credentialService;
    if (!service)
      throw new ConfigurationError(
        `MCPToolset "${this.#name}": authCredential needs a credential service; write credentialService: new InMemoryCredentialService() in the runner's options`,
      );
    const { url } = connectionParams;
    const { credentialKey = `mcp:${url.origin}${url.pathname}` } = this.#options;
    user.connection.authorization ??= new UserAuthorization({
      server: this.#name,
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
  }
}
