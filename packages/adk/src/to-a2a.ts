import { AGENT_CARD_PATH } from '@eventloom/a2a/internal';
import {
  type BaseAgent,
  type BaseArtifactService,
  type BaseMemoryService,
  type BaseSessionService,
  ConfigurationError,
  InvalidRequestError,
  StreamingMode,
  toError,
} from '@eventloom/core';
import {
  checkOptions,
  describeKind,
  isBaseAgent,
  isRecord,
  type OptionRules,
  wrongOption,
} from '@eventloom/core/internal';
import { loadA2aServer, readAgentCard } from '#runtime';
import { type A2aAgentCard, getA2AAgentCard } from './a2a-agent-card.ts';
import { A2AAgentExecutor } from './a2a-agent-executor.ts';
import { getLogger } from './logger.ts';
import type { AdkRunner } from './runner.ts';
import { AdkInMemorySessionService } from './session-reads.ts';

/** The user of a request. */
export interface A2aUser {
  readonly isAuthenticated: boolean;
  readonly userName: string;
}

/** A request of Express: what a user builder of this package reads. */
export interface A2aHttpRequest {
  readonly headers: { readonly authorization?: string | undefined };
}

/** Returns the user of a request, or throws: a `UserBuilder` of `@a2a-js/sdk`. */
export type A2aUserBuilder = (request: A2aHttpRequest) => Promise<A2aUser>;

/** An application of Express: the members that programs use most. */
export interface ExpressApplication {
  /** Answers a request of `node:http`. */
  (request: object, response: object): unknown;
  use(...handlers: unknown[]): unknown;
  /** Listens on a port. */
  listen(port: number, callback?: () => void): { close(callback?: () => void): unknown; address(): unknown };
}

/** Options of `toA2a`. */
export interface ToA2aOptions<App extends Pick<ExpressApplication, 'use'> = ExpressApplication> {
  /** The host in the card. Default `localhost`. */
  readonly host?: string | undefined;
  /** The port in the card. Default 8000. */
  readonly port?: number | undefined;
  /** The protocol in the card. Default `http`. */
  readonly protocol?: string | undefined;
  /** The path before those of A2A, such as `/a2a`. Default: none. */
  readonly basePath?: string | undefined;
  /** The card, its address, or on Node the path of its file. Default: that of `getA2AAgentCard`. */
  readonly agentCard?: A2aAgentCard | string | undefined;
  /** Runs the agent. Default: a runner with the services below. */
  readonly runner?: AdkRunner | undefined;
  /** Stores the sessions. Default: sessions in memory. */
  readonly sessionService?: BaseSessionService | undefined;
  readonly memoryService?: BaseMemoryService | undefined;
  readonly artifactService?: BaseArtifactService | undefined;
  /** Gets the routes. Default: a new application of `express`. */
  readonly app?: App | undefined;
  /** Returns the user of a request, or throws to refuse it. */
  readonly authentication?: A2aUserBuilder | undefined;
  /** True serves every client that reaches the server. Default false. */
  readonly allowUnauthenticated?: boolean | undefined;
}

const OPTIONS: OptionRules<ToA2aOptions> = {
  host: { is: 'text', write: "'agents.example.com'" },
  port: { is: 'number', isInteger: true, min: 0, max: 65_535, write: 'Number(process.env.PORT)' },
  protocol: { is: 'text', write: "'https'" },
  basePath: { is: 'text', write: "'/a2a'" },
  agentCard: { is: 'text or object', wanted: 'a card, its address or its path', write: "'./agent-card.json'" },
  runner: { is: 'object', write: 'new Runner({ appName, agent, sessionService })' },
  sessionService: { is: 'object', write: 'new InMemorySessionService()' },
  memoryService: { is: 'object', write: 'new InMemoryMemoryService()' },
  artifactService: { is: 'object', write: 'new InMemoryArtifactService()' },
  app: { is: 'function', wanted: 'an application of Express', write: 'express()' },
  authentication: { is: 'function', write: "bearerTokenUserBuilder('a-secret')" },
  allowUnauthenticated: 'flag',
};

/**
 * Returns an application of Express that serves an agent over A2A 0.3, by JSON-RPC at `/jsonrpc` and by REST at
 * `/rest`. It needs Node and two packages that are installed beside this one: `express` and version 0.3 of
 * `@a2a-js/sdk`. Tasks are kept in memory.
 *
 * Programs that need tasks which survive the process, a `CancelTask` or Workers have `a2a` of `@eventloom/a2a` instead.
 * @throws ConfigurationError without `authentication` and `allowUnauthenticated: true`, for an option or a card that
 * cannot be used, and if a package is missing
 *
 * @example
 * const app = await toA2a(agent, { port: 8001, authentication: bearerTokenUserBuilder('a-secret') });
 * app.listen(8001);
 */
export async function toA2a<App extends Pick<ExpressApplication, 'use'> = ExpressApplication>(
  agent: BaseAgent,
  options: ToA2aOptions<App> = {},
): Promise<App> {
  if (!isBaseAgent(agent))
    throw new ConfigurationError(
      `toA2a: expected an agent, got ${describeKind(agent)}; write toA2a(rootAgent, { authentication })`,
    );
  checkOptions('toA2a', OPTIONS, options);
  if (options.app && typeof options.app.use !== 'function')
    throw wrongOption('toA2a', 'app', 'an application of Express', options.app, 'express()');
  const { allowUnauthenticated } = options;
  const userBuilder = options.authentication ?? (allowUnauthenticated === true ? anyUser : undefined);
  if (!userBuilder)
    throw new ConfigurationError(
      'toA2a: authentication: is missing, and every client could run the agent; write authentication: bearerTokenUserBuilder(token), or allowUnauthenticated: true on your own machine',
    );
  if (userBuilder === anyUser)
    getLogger().warn('toA2a: allowUnauthenticated: every client that reaches the server can run the agent.');
  const { express, server, serverExpress } = loadA2aServer();
  const { url, basePath } = addressOf(options);
  const transports = [
    { url: `${url}/jsonrpc`, transport: 'JSONRPC' },
    { url: `${url}/rest`, transport: 'HTTP+JSON' },
  ];
  const card = await (options.agentCard === undefined
    ? getA2AAgentCard(agent, transports)
    : resolveCard(options.agentCard));
  const { sessionService = new AdkInMemorySessionService(), memoryService, artifactService } = options;
  const executor = new A2AAgentExecutor({
    runner: options.runner ?? { agent, appName: agent.name, sessionService, memoryService, artifactService },
    runConfig: { streamingMode: StreamingMode.SSE },
  });
  const requestHandler = new server.DefaultRequestHandler(card, new server.InMemoryTaskStore(), executor);
  const app = options.app ?? express();
  if (!options.app) app.use(express.json({ limit: '50mb' }));
  app.use(`${basePath}/${AGENT_CARD_PATH}`, serverExpress.agentCardHandler({ agentCardProvider: requestHandler }));
  app.use(`${basePath}/rest`, serverExpress.restHandler({ requestHandler, userBuilder }));
  app.use(`${basePath}/jsonrpc`, serverExpress.jsonRpcHandler({ requestHandler, userBuilder }));
  // Without the option `app` the type is that of an application of Express.
  return app as App;
}

/** Returns the address in the card, and its path without a `/` at its end. @throws ConfigurationError for parts that make no address */
function addressOf({
  host = 'localhost',
  port = 8000,
  protocol = 'http',
  basePath: givenPath = '',
}: Pick<ToA2aOptions, 'host' | 'port' | 'protocol' | 'basePath'>): { readonly url: string; readonly basePath: string } {
  const basePath = givenPath.endsWith('/') ? givenPath.slice(0, -1) : givenPath;
  if (!/^(?:\/[^\s?#]*)?$/.test(basePath))
    throw new ConfigurationError(
      `toA2a: basePath: expected a path that begins with /, got ${JSON.stringify(givenPath)}; write basePath: '/a2a'`,
    );
  if (!/^https?$/.test(protocol))
    throw new ConfigurationError(
      `toA2a: protocol: expected http or https, got ${JSON.stringify(protocol)}; write protocol: 'https'`,
    );
  const url = `${protocol}://${host}:${port}${basePath}`;
  if (!/^[^\s/?#@]+$/.test(host) || !URL.canParse(url))
    throw new ConfigurationError(
      `toA2a: host: expected the name of a host, got ${JSON.stringify(host)}; write host: 'agents.example.com'`,
    );
  return { url, basePath };
}

async function resolveCard(card: A2aAgentCard | string): Promise<unknown> {
  const found = typeof card === 'string' ? await loadCard(card) : card;
  const wanted = { name: 'string', url: 'string', capabilities: 'object' };
  for (const [field, type] of Object.entries(wanted)) {
    const value = isRecord(found) ? found[field] : undefined;
    if (typeof value !== type || value === null)
      throw new ConfigurationError(
        `toA2a: agentCard: expected a card with name, url and capabilities, but its ${field} is ${describeKind(value)}; write the card that getA2AAgentCard returns`,
      );
  }
  return found;
}

/** Loads a card from its address or its path. @throws ConfigurationError if there is none */
async function loadCard(source: string): Promise<unknown> {
  if (!/^https?:\/\//.test(source)) return readAgentCard(source);
  const failure = (reason: string, cause?: unknown): ConfigurationError =>
    new ConfigurationError(
      `toA2a: agentCard: cannot load a card from ${source.split(/[?#]/, 1)[0]}: ${reason}; write the address below which the card is, or the card`,
      { cause },
    );
  try {
    const response = await fetch(new URL(AGENT_CARD_PATH, source));
    if (response.ok) return await response.json();
    throw failure(`the status is ${response.status}`);
  } catch (cause) {
    throw ConfigurationError.isInstance(cause) ? cause : failure(toError(cause).message, cause);
  }
}

const anyUser: A2aUserBuilder = () => Promise.resolve({ isAuthenticated: false, userName: '' });

/**
 * Returns a user builder that accepts requests with `Authorization: Bearer <token>`, and rejects for all others. The
 * tokens are compared in constant time.
 * @throws ConfigurationError for an empty token, and for a missing one
 */
export function bearerTokenUserBuilder(token: string): A2aUserBuilder {
  if (typeof token !== 'string')
    throw new ConfigurationError(
      `bearerTokenUserBuilder: expected a token, got ${describeKind(token)}; write the secret that clients send. Is a variable of the environment missing?`,
    );
  const expected = token.trim();
  if (expected === '')
    throw new ConfigurationError(
      'bearerTokenUserBuilder: the token is empty; write the secret that clients send, or omit the user builder',
    );
  return async ({ headers: { authorization = '' } }) => {
    const given = /^bearer /i.test(authorization) ? authorization.slice('bearer '.length) : '';
    if (!(await isEqual(given, expected)))
      throw new InvalidRequestError(
        'the header Authorization has no valid bearer token; write Authorization: Bearer <token>',
      );
    return { isAuthenticated: true, userName: 'a2a-bearer-token' };
  };
}

/** Compares the hashes of two texts, so that the time of the comparison reveals nothing about the texts. */
async function isEqual(one: string, other: string): Promise<boolean> {
  const [left = [], right = []] = await Promise.all(
    [one, other].map(
      async (text) => new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))),
    ),
  );
  let difference = 0;
  for (let index = 0; index < 32; index++) difference |= (left[index] ?? 0) ^ (right[index] ?? 0);
  return difference === 0;
}
