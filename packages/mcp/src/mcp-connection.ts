import { InsufficientScopeError, type StandardSchemaV1 } from '@modelcontextprotocol/client';
import type { Platform } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
import type { MCPConnectionParams } from './connection-params.ts';
import { MCPLimitError, MCPProtocolError } from './errors.ts';
import { ActiveCalls } from './active-calls.ts';
import { isConnectionBroken, isSessionForgotten, toMCPError } from './connection-failures.ts';
import { type MCPRequest, MCPSession, type SendOptions } from './mcp-session.ts';
import type { UserAuthorization } from './user-authorization.ts';

/** Maximum number of tools that a server may list. */
const MAX_LISTED = 5000;
/** Maximum number of pages of a list. */
const MAX_PAGES = 100;
/** Time for which a list is used if the server neither says how long nor reports changes. */
const LIST_AGE_MS = 300_000;
/** Maximum time for which a list is used, whatever the server says. */
const MAX_LIST_AGE_MS = 3_600_000;

/** The toolset that a connection belongs to. */
interface MCPConnectionOwner {
  readonly name: string;
  readonly params: MCPConnectionParams;
  readonly platform: Platform;
  /** True lets the server use the model of the agent that calls it. */
  readonly allowsSampling: boolean;
  /** True lets the server ask the person questions. */
  readonly allowsElicitation: boolean;
  /** Called when the server reports that its tools have changed. */
  toolsChanged(): void;
}

interface ToolList {
  /** The tools as the server sent them. */
  readonly tools: readonly unknown[];
  readonly session: MCPSession;
  readonly watch: number | undefined;
  readonly expiresAtMs: number;
}

/**
 * The connection of one user to one MCP server. It connects at its first use, and again after the server forgot the session or the
 * connection broke. It serves any number of requests concurrently.
 */
export class MCPConnection {
  readonly owner: MCPConnectionOwner;
  /** Returns the user's headers of HTTP requests. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** The calls that wait for the server, which may send requests of its own meanwhile. */
  readonly calls = new ActiveCalls();
  #opening: Promise<MCPSession> | undefined;
  #session: MCPSession | undefined;
  #listed: Promise<ToolList> | undefined;
  #waiting = 0;
  /** True once the server ended the connection at the request for its protocol version, or did not answer it. */
  isLegacy = false;

  /** The authorization of the user, for toolsets that ask for it. */
  authorization: UserAuthorization | undefined;

  constructor(owner: MCPConnectionOwner, headers: () => Readonly<Record<string, string>>) {
    this.owner = owner;
    this.headers = headers;
  }

  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  /** True if the connected server speaks revision 2026-07-28 of the protocol or a later one. */
  get isOfRevision2026(): boolean {
    return this.#session?.client.getProtocolEra() === 'modern';
  }

  /** Returns true if the connected server offers something beside tools. */
  has(what: 'resources' | 'prompts'): boolean {
    return this.#session?.client.getServerCapabilities()?.[what] !== undefined;
  }

  /**
   * Lists the server's tools. Returns the stored list as long as the tools cannot have changed.
   * @throws MCPConnectionError, MCPProtocolError, MCPLimitError
   */
  async listTools(): Promise<readonly unknown[]> {
    this.#session?.transport.resume();
    const known = await this.#listed?.catch(() => undefined);
    if (known && this.#isFresh(known)) return known.tools;
    const listing = this.#listTools();
    this.#listed = listing;
    try {
      return (await listing).tools;
    } catch (error) {
      if (this.#listed === listing) this.#listed = undefined;
      throw error;
    }
  }

  #isFresh({ session, watch, expiresAtMs }: ToolList): boolean {
    if (session !== this.#session) return false;
    if (session.client.getServerCapabilities()?.tools?.listChanged !== true) return this.#now < expiresAtMs;
    return watch !== undefined && session.transport.watch === watch;
  }

  get #now(): number {
    return this.owner.platform.now();
  }

  async #listTools(): Promise<ToolList> {
    const { timeoutMs } = this.owner.params;
    let cursor: string | undefined;
    const tools: unknown[] = [];
    let ageMs = LIST_AGE_MS;
    let session: MCPSession | undefined;
    let watch: number | undefined;
    for (let page = 0; ; page++) {
      if (page === MAX_PAGES || tools.length > MAX_LISTED)
        throw new MCPLimitError(
          `MCP server "${this.owner.name}": lists more than ${MAX_LISTED} tools, or in more than ${MAX_PAGES} pages`,
        );
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.send(
        async (sent, { options }) => {
          if (page === 0) [session, watch] = [sent, sent.transport.watch];
          if (!sent.client.getServerCapabilities()?.tools) return NO_TOOLS;
          return sent.client.request({ method: 'tools/list', params }, TOOL_PAGE, options);
        },
        { isRepeatable: true, timeoutMs },
      );
      for (const tool of result.tools) tools.push(tool);
      if (result.ttlMs !== undefined) ageMs = Math.min(result.ttlMs, MAX_LIST_AGE_MS);
      if (result.nextCursor === undefined || result.nextCursor === cursor) break;
      cursor = result.nextCursor;
    }
    if (!session) throw new MCPProtocolError(`MCP server "${this.owner.name}": listed no tools`);
    return { tools, session, watch, expiresAtMs: this.#now + ageMs };
  }

  /**
   * Sends a request and returns the answer. If the server forgot the session, it did not process the request, which is
   * sent again in a new session. If the connection broke, the request is sent again only if it is repeatable.
   * @throws MCPConnectionError, MCPProtocolError, MCPLimitError, and the signal's reason
   */
  async send<T>(request: MCPRequest<T>, options: SendOptions): Promise<T> {
    this.#waiting++;
    let isWidened = false;
    try {
      for (let attempt = 0; ; attempt++) {
        const session = await this.#connect();
        try {
          return await session.exchange(request, options);
        } catch (error) {
          options.signal?.throwIfAborted();
          if (InsufficientScopeError.isInstance(error) && this.authorization && !isWidened) {
            isWidened = true;
            await this.#widen(this.authorization, error);
            continue;
          }
          const isForgotten = isSessionForgotten(error, session);
          const isBroken = isForgotten || isConnectionBroken(error);
          // A process that wrote a message over the limit was ended: the next request needs another process.
          if (isBroken || session.transport.failure) this.drop(session);
          if (attempt > 0 || !(isForgotten || (isBroken && options.isRepeatable)))
            throw toMCPError(error, this.owner, options);
        }
      }
    } finally {
      this.#waiting--;
    }
  }

  /** Requests a wider authorization. The server refused the request, so it can be sent again. */
  async #widen(authorization: UserAuthorization, missing: InsufficientScopeError): Promise<void> {
    await authorization.widen(missing).catch((error: unknown) => {
      throw toMCPError(error, this.owner);
    });
  }

  #connect(): Promise<MCPSession> {
    this.#session?.transport.resume();
    this.#opening ??= MCPSession.open(this).then(
      (session) => (this.#session = session),
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  /** Removes a session that has ended. */
  drop(session: MCPSession): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#opening = undefined;
    session.drop();
  }

  /** Called when the server reports that its tools have changed: they are listed again. */
  forgetTools(): void {
    this.#listed = undefined;
    this.owner.toolsChanged();
  }

  /** Lets the process end while no run is active. */
  suspend(): void {
    this.#session?.transport.suspend();
  }

  /** Ends the connection. The next use connects again. */
  async close(): Promise<void> {
    const session = await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    this.#session = undefined;
    this.#listed = undefined;
    await session?.end();
  }
}

/** A page of a server's list of tools. */
interface ToolPage {
  readonly tools: readonly unknown[];
  readonly nextCursor?: string | undefined;
  /** Time for which the list may be used. */
  readonly ttlMs?: number | undefined;
}

const NO_TOOLS: ToolPage = { tools: [] };

/** Reads a page, but not its tools: they are checked one by one, so that an invalid one does not exclude the others. */
const TOOL_PAGE: StandardSchemaV1<unknown, ToolPage> = {
  '~standard': {
    version: 1,
    vendor: 'eventloom',
    validate: (value) => {
      const { tools, nextCursor, ttlMs } = isRecord(value) ? value : {};
      if (!Array.isArray(tools)) return { issues: [{ message: `tools: expected a list, got ${describeKind(tools)}` }] };
      return {
        value: {
          tools,
          nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined,
          ttlMs: typeof ttlMs === 'number' ? ttlMs : undefined,
        },
      };
    },
  },
};
