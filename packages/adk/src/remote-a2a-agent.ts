import type { AgentCard } from '@eventloom/a2a';
import {
  AGENT_CARD_PATH,
  type A2ASendRequest,
  type A2AUpdate,
  readMessage,
  readUpdate,
  RemoteA2AAgent,
  type RemoteA2AAgentOptions,
  toLegacyMessage,
  toLegacyUpdate,
} from '@eventloom/a2a/internal';
import {
  type BaseAgentConfig,
  ConfigurationError,
  type Event,
  EventloomError,
  type InvocationContext,
  InvalidRequestError,
  RunAbortedError,
} from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { readAgentCard } from '#a2a-server';
import type { A2aAgentCard } from './a2a-agent-card.ts';
import type { A2aMessageSendParams, A2AStreamEventData } from './a2a-types.ts';
import { getLogger } from './logger.ts';

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

/** Options of a `RemoteA2AAgent` of programs that were written for `@google/adk`. */
export interface RemoteA2AAgentConfig extends BaseAgentConfig {
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

/**
 * The `RemoteA2AAgent` of programs that were written for `@google/adk`: that of `@eventloom/a2a`, with the options of the ADK. A failure is an
 * event with an `errorMessage`, and the run continues.
 *
 * @example
 * const prime = new RemoteA2AAgent({ name: 'prime', agentCard: 'http://localhost:8001/' });
 */
export class AdkRemoteA2AAgent extends RemoteA2AAgent {
  /** Name that errors show, as the program imports it. */
  static override readonly name: string = 'RemoteA2AAgent';
  readonly #config: RemoteA2AAgentConfig;

  /** @throws ConfigurationError without a card and a client, and for a card that cannot be used */
  constructor(config: RemoteA2AAgentConfig) {
    const {
      agentCard: _card,
      client: _client,
      clientFactory: _factory,
      messageSendConfig: _sendConfig,
      beforeRequestCallbacks: _before,
      afterRequestCallbacks: _after,
      ...agent
    } = config;
    super({ ...agent, ...connectionOf(config) });
    this.#config = config;
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
    } catch (error) {
      if (RunAbortedError.isInstance(error) || !(error instanceof Error)) throw error;
      getLogger().error(`RemoteA2AAgent ${this.name} failed:`, error);
      const errorCode = EventloomError.isInstance(error) ? error.code : 'A2A_CALLBACK';
      yield context.createEvent({ errorCode, errorMessage: error.message, turnComplete: true });
    }
  }
}

type Connection = Pick<RemoteA2AAgentOptions, 'agentCard' | 'fetch'>;

/** The origin of an agent whose address only its client knows. */
const CLIENT_URL = 'http://a2a-client.invalid/';
/** Bytes of a card that is read for a client factory. */
const MAX_CARD_BYTES = 1024 * 1024;

/** Returns how the agent of `@eventloom/a2a` reaches the server. */
function connectionOf({ name, agentCard, client, clientFactory }: RemoteA2AAgentConfig): Connection {
  if (agentCard === undefined && !client)
    throw new ConfigurationError(
      `RemoteA2AAgent "${name}": agentCard: is missing; write agentCard: 'http://localhost:8001/', or client`,
    );
  const isAddress = typeof agentCard === 'string' && /^https?:\/\//.test(agentCard);
  const card: unknown = typeof agentCard === 'string' && !isAddress ? readAgentCard(agentCard) : agentCard;
  if (client) return { agentCard: clientCard(card), fetch: (_url, init) => answerOf(client, init) };
  if (!clientFactory) {
    // The constructor of the agent checks a card, also one of A2A 0.3.
    return { agentCard: isAddress ? addressOf(agentCard) : (card as AgentCard) };
  }
  let created: Promise<A2aClient> | undefined;
  if (!isAddress)
    return {
      agentCard: clientCard(card),
      fetch: async (_url, init) => answerOf(await (created ??= clientFactory.createFromAgentCard(card as never)), init),
    };
  return {
    agentCard: addressOf(agentCard),
    async fetch(url, init) {
      if (init.method === 'POST' && created) return answerOf(await created, init);
      const response = await fetch(url, init);
      if (!response.ok) return response;
      const found = JSON.parse(await readText(response)) as unknown;
      created = clientFactory.createFromAgentCard(found as never);
      return Response.json(clientCard(found, url));
    },
  };
}

/** Returns a card of A2A 1.0 for the agent of `@eventloom/a2a`, whose requests a client takes. */
function clientCard(card: unknown, url = CLIENT_URL): AgentCard {
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

/** Sends a request of JSON-RPC through a client of the program, and returns what the client answers as an answer of JSON-RPC. */
async function answerOf(client: A2aClient, { body }: RequestInit): Promise<Response> {
  const { id, method, params } = JSON.parse(typeof body === 'string' ? body : '{}') as {
    id: string;
    method: string;
    params: never;
  };
  switch (method) {
    case 'message/stream':
      return streamed(id, client.sendMessageStream(params));
    case 'tasks/resubscribe':
      return streamed(id, client.resubscribeTask(params));
    case 'tasks/get':
      return Response.json({ jsonrpc: '2.0', id, result: await client.getTask(params) });
    case 'tasks/cancel':
      return Response.json({ jsonrpc: '2.0', id, result: await client.cancelTask(params) });
    default:
      return Response.json({ jsonrpc: '2.0', id, result: await client.sendMessage(params) });
  }
}

function streamed(id: string, items: AsyncIterable<object>): Response {
  const encoder = new TextEncoder();
  const iterator = items[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value: result } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`));
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
