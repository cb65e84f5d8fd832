import type { AgentCard } from '@eventloom/a2a';
import {
  A2AProtocolError,
  type A2ASendRequest,
  A2ATaskError,
  type A2AUpdate,
  AGENT_CARD_PATH,
  CONTEXT_ID,
  NO_JSON_RPC,
  readEndpoint,
  readMessage,
  readUpdate,
  RemoteA2AAgent,
  type RemoteA2AAgentOptions,
  TASK_ID,
  toLegacyMessage,
  toLegacyUpdate,
  type UnfinishedTask,
} from '@eventloom/a2a/internal';
import {
  type BaseAgentConfig,
  ConfigurationError,
  type Event,
  EventloomError,
  type InvocationContext,
  InvalidRequestError,
  RunAbortedError,
  toError,
} from '@eventloom/core';
import {
  BASE_AGENT_OPTIONS,
  checkOptions,
  describeKind,
  integer,
  isRecord,
  type OptionRules,
  wrongOption,
} from '@eventloom/core/internal';
import { readAgentCard } from '#runtime';
import type { A2aAgentCard } from './a2a-agent-card.ts';
import type { A2aMessageSendParams, A2AStreamEventData } from './a2a-types.ts';
import { getLogger } from './logger.ts';
import { runFromProgram, runOverridden } from './overridden-runs.ts';

/** Called before a request is sent. Changes of `params` are sent. A rejected promise fails the run. */
export type BeforeA2ARequestCallback = (ctx: InvocationContext, params: A2aMessageSendParams) => Promise<void> | void;

/** Called with each item that the server sends, before it becomes events. Changes of `resp` are read. A rejected promise fails the run. */
export type AfterA2ARequestCallback = (ctx: InvocationContext, resp: A2AStreamEventData) => Promise<void> | void;

/** The methods of a `Client` of `@a2a-js/sdk` that the agent calls. */
export interface A2aClient {
  // Methods, so that a client with narrower parameters fits.
  sendMessage(params: never): Promise<object>;
  sendMessageStream(params: never): AsyncIterable<object>;
  resubscribeTask(params: never): AsyncIterable<object>;
  getTask(params: never): Promise<object>;
  cancelTask(params: never): Promise<object>;
}

/**
 * Options of a `RemoteA2AAgent` of programs that were written for `@google/adk`. `headers`, `timeoutMs` and
 * `maxResponseBytes` are of Eventloom alone.
 */
export interface RemoteA2AAgentConfig
  extends BaseAgentConfig, Pick<RemoteA2AAgentOptions, 'headers' | 'timeoutMs' | 'maxResponseBytes'> {
  /** The card; or the address below which the card is; or on Node the path of a file with the card. Required without a `client`. */
  readonly agentCard?: A2aAgentCard | string | undefined;
  /** Sends the requests, instead of the agent. */
  readonly client?: A2aClient | undefined;
  /** Creates the client from the card. Ignored beside a `client`. */
  readonly clientFactory?: { createFromAgentCard(card: never): Promise<A2aClient> } | undefined;
  /** The `configuration` of every request. */
  readonly messageSendConfig?: object | undefined;
  readonly beforeRequestCallbacks?: readonly BeforeA2ARequestCallback[] | undefined;
  readonly afterRequestCallbacks?: readonly AfterA2ARequestCallback[] | undefined;
}

const EXAMPLE = "new RemoteA2AAgent({ name: 'prime', agentCard: 'http://localhost:8001/' })";
const CLIENT_FACTORY = 'new ClientFactory(), of @a2a-js/sdk/client';
const CARD = {
  is: 'text or object',
  wanted: 'an address with http or https, the path of a file, or a card',
  write: "'http://localhost:8001/'",
} as const;
const CLIENT = {
  is: 'object',
  wanted: 'a client with sendMessageStream and sendMessage',
  write: 'await new ClientFactory().createFromUrl(address)',
} as const;
const CALLBACKS = { is: 'list', wanted: 'a list of functions', write: '[(context, value) => { … }]' } as const;
const OPTIONS: OptionRules<RemoteA2AAgentConfig> = {
  ...BASE_AGENT_OPTIONS,
  agentCard: CARD,
  client: CLIENT,
  clientFactory: {
    is: 'object',
    has: 'createFromAgentCard',
    wanted: 'a factory with createFromAgentCard',
    write: CLIENT_FACTORY,
  },
  messageSendConfig: { is: 'object', write: '{ historyLength: 10 }' },
  beforeRequestCallbacks: CALLBACKS,
  afterRequestCallbacks: CALLBACKS,
  headers: { is: 'object or function', write: '{ authorization: `Bearer ${token}` }' },
  timeoutMs: integer(1),
  maxResponseBytes: integer(1),
};

/**
 * The `RemoteA2AAgent` of programs that were written for `@google/adk`: that of `@eventloom/a2a`, with the options of
 * the ADK. A failure is an event with an `errorMessage`, and the run continues. For a task that the remote agent did
 * not complete the message is that of the remote agent.
 *
 * @example
 * const prime = new RemoteA2AAgent({ name: 'prime', agentCard: 'http://localhost:8001/' });
 */
export class AdkRemoteA2AAgent extends RemoteA2AAgent {
  /** Name that errors show, as the program imports it. */
  static override readonly name: string = 'RemoteA2AAgent';
  readonly #config: RemoteA2AAgentConfig;

  /**
   * @throws ConfigurationError without a card and a client, for a card that cannot be used, an unknown option, and one
   * of the wrong kind
   */
  constructor(config: RemoteA2AAgentConfig) {
    super(toOptions(config));
    this.#config = config;
  }

  override runAsync(
    parentContext: InvocationContext,
    place?: Parameters<RemoteA2AAgent['runAsync']>[1],
  ): AsyncGenerator<Event, void, void> {
    return runFromProgram(this, parentContext, place);
  }

  /** @internal */
  override runIn(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return runOverridden(this, AdkRemoteA2AAgent.prototype, context, () => super.runIn(context));
  }

  protected override describeServer(url: string): string {
    return url === CLIENT_URL ? 'its client' : super.describeServer(url);
  }

  /** The remote agent continues with the task after an error of the program's client, as in the ADK. */
  protected override leavesTask(error: unknown): boolean {
    return clientErrorIn(error) !== undefined;
  }

  protected override reportTask(
    context: InvocationContext,
    { taskId, contextId, state, words }: UnfinishedTask,
  ): Event {
    const { client, clientFactory } = this.#config;
    const how = client || clientFactory ? 'with the client' : 'in headers';
    const reason =
      words ||
      (state === 'TASK_STATE_AUTH_REQUIRED'
        ? `the task ${taskId} requires a credential; send it ${how}`
        : `the task ${taskId} ended as ${state.slice('TASK_STATE_'.length).toLowerCase()}, and its agent gave no reason`);
    return context.createEvent({
      errorCode: A2ATaskError.code,
      errorMessage: reason,
      turnComplete: true,
      customMetadata: { [TASK_ID]: taskId, ...(contextId === undefined ? {} : { [CONTEXT_ID]: contextId }) },
    });
  }

  protected override async prepareRequest(
    context: InvocationContext,
    { message }: A2ASendRequest,
  ): Promise<A2ASendRequest> {
    const { messageSendConfig, beforeRequestCallbacks = [] } = this.#config;
    const { appName, userId } = context;
    const metadata = {
      ...message.metadata,
      adk_app_name: appName,
      adk_user_id: userId,
      adk_session_id: context.session.id,
    };
    const params = {
      message: toLegacyMessage({ ...message, metadata }),
      ...(messageSendConfig && { configuration: { ...messageSendConfig } }),
    } as A2aMessageSendParams;
    for (const callback of beforeRequestCallbacks) await callback(context, params);
    const { configuration } = params;
    return { message: readMessage('params.message', params.message), ...(configuration && { configuration }) };
  }

  protected override async receiveUpdate(context: InvocationContext, update: A2AUpdate): Promise<A2AUpdate> {
    const { afterRequestCallbacks = [] } = this.#config;
    if (afterRequestCallbacks.length === 0) return update;
    const item = toLegacyUpdate(update) as A2AStreamEventData;
    for (const callback of afterRequestCallbacks) await callback(context, item);
    return readUpdate('result', item);
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    try {
      yield* super.runAsyncImpl(context);
    } catch (thrown) {
      const error = toError(thrown);
      if (RunAbortedError.isInstance(error)) throw error;
      const errorCode = EventloomError.isInstance(error) ? error.code : 'A2A_CALLBACK';
      const errorMessage = reasonOf(error);
      getLogger().error(`RemoteA2AAgent ${this.name} failed: ${errorCode}: ${errorMessage.replaceAll(/\s+/g, ' ')}`);
      yield context.createEvent({ errorCode, errorMessage, turnComplete: true });
    }
  }
}

/** Returns the words of the program's client if it threw the error, as the ADK does, or otherwise those of the error. */
function reasonOf(error: Error): string {
  const thrown = clientErrorIn(error);
  if (thrown) return thrown.message;
  const isOtherTransport = A2AProtocolError.isInstance(error) && error.message.endsWith(NO_JSON_RPC);
  return isOtherTransport ? error.message + OTHER_TRANSPORTS : error.message;
}

/** Returns the error of a client of the program that caused this one; undefined if none did. */
function clientErrorIn(error: unknown): Error | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (thrownByClients.has(cause)) return cause;
  return undefined;
}

/** Advice for a card without an address for JSON-RPC. */
const OTHER_TRANSPORTS = `; for the transports of @a2a-js/sdk write clientFactory: ${CLIENT_FACTORY}`;

type Connection = Pick<RemoteA2AAgentOptions, 'agentCard' | 'fetch'>;

/**
 * Returns the options of the agent of `@eventloom/a2a`.
 * @throws ConfigurationError for an unknown option, and for one of the wrong kind
 */
function toOptions(config: RemoteA2AAgentConfig): RemoteA2AAgentOptions {
  const owner =
    isRecord(config) && typeof config['name'] === 'string' ? `RemoteA2AAgent "${config['name']}"` : 'RemoteA2AAgent';
  checkOptions(owner, OPTIONS, config, undefined, EXAMPLE);
  const { agentCard, client, clientFactory, messageSendConfig: _, ...others } = config;
  const { beforeRequestCallbacks: before, afterRequestCallbacks: after, ...agent } = others;
  for (const [name, callbacks] of Object.entries({ beforeRequestCallbacks: before, afterRequestCallbacks: after }))
    for (const [index, callback] of (callbacks ?? []).entries())
      if (typeof callback !== 'function')
        throw wrongOption(owner, `${name}[${index}]`, 'a function', callback, CALLBACKS.write);
  const methods = ['sendMessageStream', 'sendMessage'] as const;
  if (client && methods.every((method) => typeof client[method] !== 'function'))
    throw wrongOption(owner, 'client', CLIENT.wanted, client, CLIENT.write);
  if (config.headers && (client || clientFactory))
    throw new ConfigurationError(
      `${owner}: headers: a client sends its own; write them in the fetchImpl of its transport, and no headers here`,
    );
  if (agentCard === '' || (typeof agentCard === 'string' && isHttp(agentCard) && !URL.canParse(agentCard)))
    throw wrongOption(owner, 'agentCard', CARD.wanted, agentCard, CARD.write);
  return { ...agent, ...connectionOf(owner, config) };
}

function isHttp(text: string): boolean {
  return /^https?:\/\//.test(text);
}

/** The origin of an agent whose address only its client knows. */
const CLIENT_URL = 'http://a2a-client.invalid/';
/** Bytes of a card that is read for a client factory. */
const MAX_CARD_BYTES = 1024 * 1024;

/** Returns how the agent of `@eventloom/a2a` reaches the server. */
function connectionOf(owner: string, { agentCard, client, clientFactory }: RemoteA2AAgentConfig): Connection {
  if (agentCard === undefined && !client)
    throw new ConfigurationError(
      `${owner}: agentCard: is missing; write agentCard: 'http://localhost:8001/', or client`,
    );
  const isAddress = typeof agentCard === 'string' && isHttp(agentCard);
  const card: unknown = typeof agentCard === 'string' && !isAddress ? readAgentCard(agentCard) : agentCard;
  if (client)
    return { agentCard: clientCard(card, addressIn(agentCard, card)), fetch: (_url, init) => answerOf(client, init) };
  if (!clientFactory) {
    if (isAddress) return { agentCard: addressOf(agentCard) };
    try {
      readEndpoint(card);
    } catch (cause) {
      throw new ConfigurationError(`${owner}: agentCard: ${reasonOf(toError(cause))}`, { cause });
    }
    return { agentCard: card as AgentCard };
  }
  let created: A2aClient | undefined;
  if (!isAddress)
    return {
      agentCard: clientCard(card, addressIn(agentCard, card)),
      fetch: async (_url, init) => answerOf((created ??= await clientOf(clientFactory, card)), init),
    };
  return {
    agentCard: addressOf(agentCard),
    async fetch(url, init) {
      if (init.method === 'POST' && created) return answerOf(created, init);
      const response = await fetch(url, init);
      if (!response.ok) return response;
      const found = parseCard(await readText(response));
      created = await clientOf(clientFactory, found);
      return Response.json(clientCard(found, url));
    },
  };
}

/** Returns the address that errors name for an agent with a client. */
function addressIn(agentCard: RemoteA2AAgentConfig['agentCard'], card: unknown): string {
  const address: unknown = isRecord(card) ? card['url'] : agentCard;
  if (typeof address !== 'string' || !isHttp(address) || !URL.canParse(address)) return CLIENT_URL;
  const { username, password } = new URL(address);
  return username === '' && password === '' ? address : CLIENT_URL;
}

/** Creates the client of a card. @throws A2AProtocolError if the factory throws or returns no client */
async function clientOf(
  factory: NonNullable<RemoteA2AAgentConfig['clientFactory']>,
  card: unknown,
): Promise<A2aClient> {
  let client: unknown;
  try {
    client = await factory.createFromAgentCard(card as never);
  } catch (error) {
    throw toClientError(error);
  }
  if (!isRecord(client))
    throw new A2AProtocolError(
      `clientFactory.createFromAgentCard: expected a promise of a client, got a promise of ${describeKind(client)}; return a client`,
    );
  return client as unknown as A2aClient;
}

/** Errors that clients of programs threw. */
const thrownByClients = new WeakSet<Error>();

/**
 * Returns the error for what a client of the program threw. A lost connection may be tried again, and stays as it is. Everything else is
 * final, and the same error at once as in the ADK.
 */
function toClientError(thrown: unknown): Error {
  const error = toError(thrown);
  thrownByClients.add(error);
  const isFinal = error.name !== 'AbortError' && !isLostConnection(error) && !EventloomError.isInstance(error);
  return isFinal ? new A2AProtocolError(error.message, { cause: error }) : error;
}

/** True for the errors of `fetch` and of sockets, and for what clients add as the cause. */
function isLostConnection(error: Error): boolean {
  const { cause } = error;
  const code = 'code' in error ? String(error.code) : '';
  if (/^(?:E[A-Z]{3,}|UND_ERR_\w+)$/.test(code)) return true;
  if (cause instanceof Error) return error instanceof TypeError || isLostConnection(cause);
  return error instanceof TypeError && /fetch|network|load failed|terminated/i.test(error.message);
}

/** Returns a card of A2A 1.0 for the agent of `@eventloom/a2a`, whose requests a client takes. */
function clientCard(card: unknown, url: string): AgentCard {
  const { name = 'agent', capabilities } = isRecord(card) ? card : {};
  const streaming = !isRecord(capabilities) || capabilities['streaming'] !== false;
  return {
    name: String(name),
    description: '',
    version: '',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
    capabilities: { streaming },
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
}

function parseCard(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new A2AProtocolError('the card is not JSON', { cause });
  }
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_CARD_BYTES) throw new InvalidRequestError(`the card has more than ${MAX_CARD_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The methods of a client by those of JSON-RPC. */
const METHODS: Readonly<Record<string, keyof A2aClient>> = {
  'message/send': 'sendMessage',
  'message/stream': 'sendMessageStream',
  'tasks/resubscribe': 'resubscribeTask',
  'tasks/get': 'getTask',
  'tasks/cancel': 'cancelTask',
};

/**
 * Sends a request of JSON-RPC through a client of the program, and returns what the client answers as an answer of JSON-RPC.
 * @throws A2AProtocolError for what the client throws, unless its connection was lost, and for a method that it does not have
 */
async function answerOf(client: A2aClient, { body }: RequestInit): Promise<Response> {
  const { id, method, params } = JSON.parse(typeof body === 'string' ? body : '{}') as {
    id: string;
    method: string;
    params: never;
  };
  const name = METHODS[method] ?? 'sendMessage';
  if (typeof client[name] !== 'function')
    throw new A2AProtocolError(`client.${name}: expected a method, got ${describeKind(client[name])}`);
  let answer: unknown;
  try {
    answer = await client[name](params);
  } catch (error) {
    throw toClientError(error);
  }
  const isStream = name === 'sendMessageStream' || name === 'resubscribeTask';
  if (!isStream) return Response.json({ jsonrpc: '2.0', id, result: answer });
  if (!isAsyncIterable(answer))
    throw new A2AProtocolError(
      `client.${name}: expected an async iterable, got ${describeKind(answer)}; write async *${name}(params) { … }`,
    );
  return streamed(id, answer[Symbol.asyncIterator]());
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function streamed(id: string, iterator: AsyncIterator<unknown>): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { done, value: result } = await iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`));
      } catch (error) {
        throw toClientError(error);
      }
    },
    async cancel() {
      await iterator.return?.();
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

/** Returns the address of the card below another address, as `@a2a-js/sdk` resolves it. */
function addressOf(url: string): string {
  return url.endsWith('.json') ? url : new URL(AGENT_CARD_PATH, url).href;
}
