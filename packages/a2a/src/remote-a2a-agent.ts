import {
  BaseAgent,
  type BaseAgentConfig,
  ConfigurationError,
  type Event,
  type InvocationContext,
  requestInput,
  RunAbortedError,
} from '@eventloom/core';
import {
  BASE_AGENT_OPTIONS,
  checkOptions,
  integer,
  type OptionRules,
  wait,
  wrongOption,
} from '@eventloom/core/internal';
import { A2AConnection, type A2ARequestContext, isLostResponse, withoutQuery } from './a2a-connection.ts';
import { type AgentCard, type A2AEndpoint, readEndpoint } from './agent-card.ts';
import { A2AConnectionError, A2AProtocolError, A2ATaskError } from './errors.ts';
import { messageMetadataOf } from './hops.ts';
import { RemoteReply } from './remote-reply.ts';
import { eventsOf, readConversation, toAnswerParts, toRequest, wordsOf } from './remote-conversation.ts';
import { type A2AMessage, type A2ASendRequest, type A2ATaskState, type A2AUpdate, isWaiting } from './wire.ts';

/** Options of `RemoteA2AAgent`, beside those of every agent. */
export interface RemoteA2AAgentOptions extends BaseAgentConfig {
  /**
   * The address of the agent, or of its card if it ends with `.json`; or the card itself. A card that is fetched must
   * name an address of its own origin.
   */
  readonly agentCard: string | AgentCard;
  /** Headers of every request, such as `authorization`; or a function of the context that returns them. Default: none. */
  readonly headers?:
    | Readonly<Record<string, string>>
    | ((context: InvocationContext) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
    | undefined;
  /**
   * Time in milliseconds without a byte from the server, or without a change of a task that is asked for, after which the run fails.
   * Default: 300,000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum size of one response, in bytes; a stream counts as a whole. Also the maximum number of characters of all
   * artifacts of a task, over all streams. Default: 8 MiB.
   */
  readonly maxResponseBytes?: number | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/** A task of a remote agent that ended without a result, or that requires a credential. */
export interface UnfinishedTask {
  readonly taskId: string;
  readonly contextId: string | undefined;
  readonly state: A2ATaskState;
  /** The text of its status. Empty: the remote agent gave no reason. */
  readonly words: string;
}

const ADDRESS = "'https://agents.example.com/a2a/weather'";
const OPTIONS: OptionRules<RemoteA2AAgentOptions> = {
  ...BASE_AGENT_OPTIONS,
  agentCard: { is: 'text or object', wanted: 'an address or a card', write: ADDRESS },
  headers: { is: 'object or function', write: '{ authorization: `Bearer ${token}` }' },
  timeoutMs: integer(1),
  maxResponseBytes: integer(1),
  fetch: { is: 'function', write: '(url, init) => fetch(url, init)' },
};

const HINTS = { url: `write agentCard: ${ADDRESS}`, card: `write agentCard: ${ADDRESS}` };

const TIMEOUT_MS = 300_000;
const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;
/** Time for the server to take the cancellation of a task. */
const CANCEL_MS = 10_000;

/**
 * An agent on another server, reached over A2A 1.0 or 0.3. It sends the part of the session that the remote agent has
 * not seen, streams its reply as chunks and whole events, and continues the same context in later turns. Task and
 * context ids are in the `customMetadata` of its events (`a2a:task_id`, `a2a:context_id`), as the ADK has them.
 *
 * If the stream is lost, the agent subscribes to the task again, or asks for it, and shows no text twice.
 *
 * When the remote agent requires input, this agent requests it as `requestInput` does, and sends the answer to the same task. Calls and
 * responses of the remote agent's tools are not part of the session. When the run is aborted, the task is cancelled. The run fails with
 * A2AConnectionError, A2AProtocolError or A2ALimitError for a server that cannot be reached, does not speak A2A or sends too much, and with
 * A2ATaskError when the task failed.
 *
 * @example
 * import { LlmAgent } from '@eventloom/llm-agent';
 *
 * const weather = new RemoteA2AAgent({
 *   name: 'weather',
 *   description: 'Knows the weather of every city.',
 *   agentCard: 'https://agents.example.com/a2a/weather',
 *   headers: { authorization: `Bearer ${apiKey}` },
 * });
 * const agent = new LlmAgent({ name: 'guide', model: 'gemini-flash-latest', subAgents: [weather] });
 */
export class RemoteA2AAgent extends BaseAgent {
  readonly #headers: RemoteA2AAgentOptions['headers'];
  readonly #address: string | undefined;
  readonly #connection: A2AConnection;
  readonly #canceller: A2AConnection;
  readonly #timeoutMs: number;
  readonly #maxResponseBytes: number;
  /** The address of the agent, once it is known. */
  #endpoint: A2AEndpoint | undefined;

  /** @throws ConfigurationError for an unknown option, one of the wrong kind, and a card or an address that cannot be used */
  constructor(options: RemoteA2AAgentOptions) {
    super(options);
    const owner = `${new.target.name} "${options.name}"`;
    checkOptions(owner, OPTIONS, options, HINTS);
    const { agentCard, headers, timeoutMs = TIMEOUT_MS, maxResponseBytes = MAX_RESPONSE_BYTES } = options;
    const { fetch: send = (url, init) => fetch(url, init) } = options;
    if (typeof agentCard === 'string') {
      if (!/^https?:\/\//.test(agentCard) || !URL.canParse(agentCard))
        throw wrongOption(owner, 'agentCard', 'an address with http or https, or a card', agentCard, ADDRESS);
      const { username, password } = new URL(agentCard);
      if (username !== '' || password !== '')
        throw new ConfigurationError(
          `${owner}: agentCard: the address has a user name or a password, which requests cannot have; write them in headers: { authorization: 'Basic …' }`,
        );
      this.#address = agentCard;
    } else if (agentCard === undefined) {
      throw wrongOption(owner, 'agentCard', 'an address with http or https, or a card', agentCard, ADDRESS);
    } else {
      try {
        this.#endpoint = readEndpoint(agentCard);
      } catch (cause) {
        if (!A2AProtocolError.isInstance(cause)) throw cause;
        throw new ConfigurationError(`${owner}: agentCard: ${cause.message}`, { cause });
      }
    }
    this.#headers = headers;
    this.#timeoutMs = timeoutMs;
    this.#maxResponseBytes = maxResponseBytes;
    const describe = (url: string): string => this.describeServer(url);
    this.#connection = new A2AConnection({ owner, describe, fetch: send, timeoutMs, maxResponseBytes });
    this.#canceller = new A2AConnection({
      owner,
      describe,
      fetch: send,
      timeoutMs: Math.min(timeoutMs, CANCEL_MS),
      maxResponseBytes,
    });
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  /** Returns the request that sends a message. A subclass may add to it. Default: the request as it is. */
  protected prepareRequest(
    _context: InvocationContext,
    request: A2ASendRequest,
  ): A2ASendRequest | Promise<A2ASendRequest> {
    return request;
  }

  /** Returns an item of a reply before it becomes events. A subclass may change it. Default: the item as it is. */
  protected receiveUpdate(_context: InvocationContext, update: A2AUpdate): A2AUpdate | Promise<A2AUpdate> {
    return update;
  }

  /** Names the server in the messages of errors. Default: its address without the query, which may have a key. */
  protected describeServer(url: string): string {
    return withoutQuery(url);
  }

  /** Returns true for an error after which the remote agent continues with the task. Default: false, it is cancelled. */
  protected leavesTask(_error: unknown): boolean {
    return false;
  }

  /** Returns the event that reports a task without a result. Default: none, because the run fails. @throws A2ATaskError */
  protected reportTask(_context: InvocationContext, { taskId, state, words }: UnfinishedTask): Event {
    const end = ENDS[state] ?? 'failed';
    const what = isWaiting(state)
      ? `requires a credential${words && `: ${words}`}; pass it to the server in headers`
      : `${end}: ${words || 'it gave no reason'}`;
    throw new A2ATaskError(`${this.#where()}the task ${taskId} ${what}`);
  }

  /** Returns the beginning of the message of an error. */
  #where(): string {
    return `the agent "${this.name}": ${this.describeServer(this.#endpoint?.url ?? '')}: `;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { question, contextId, unseen, begunTaskId } = readConversation(context);
    let parts = unseen;
    let task: Pick<A2AMessage, 'taskId' | 'contextId'> = contextId === undefined ? {} : { contextId };
    // A resumed run has the same id, so a server that knows the message does not run it again.
    let messageId = `${context.invocationId}:${context.executionId}`;
    if (question) {
      const answer = yield* requestInput(context, question.params);
      if (answer === undefined) return;
      parts = toAnswerParts(answer, question.calls);
      task = { taskId: question.taskId, contextId: question.contextId };
      messageId = `${messageId}:${question.callId}`;
    }
    const isSent = parts.length === 0;
    if (isSent) {
      // The remote agent has seen everything. The reply of a run that was interrupted is read to its end.
      if (begunTaskId === undefined) return;
      task = { ...task, taskId: begunTaskId };
    }
    const { platform, abortSignal: signal } = context;
    const given = typeof this.#headers === 'function' ? await this.#headers(context) : this.#headers;
    const headers = this.#mergeHeaders(context.traceHeaders, given);
    const request: A2ARequestContext = { platform, headers, signal };
    const endpoint = (this.#endpoint ??= await this.#connection.fetchEndpoint(this.#address ?? '', request));
    const known = task.taskId === undefined ? [] : eventsOf(context, task.taskId);
    const reply = new RemoteReply(context, task, known, question !== undefined, this.#maxResponseBytes);
    const sent: A2ASendRequest | undefined = isSent
      ? undefined
      : await this.prepareRequest(context, {
          message: {
            messageId,
            role: 'ROLE_USER',
            parts,
            ...task,
            metadata: messageMetadataOf(context.runConfig.customMetadata),
          },
        });
    let isLeft = false;
    try {
      for await (const update of this.#updates(endpoint, sent, reply, request)) {
        const received = await this.receiveUpdate(context, update);
        yield* this.#connection.named(endpoint.url, reply.add(received));
        if (reply.isSettled) break;
      }
    } catch (error) {
      if (signal.aborted)
        throw new RunAbortedError('the run was aborted while a remote agent worked', { cause: error });
      isLeft = this.leavesTask(error);
      throw error;
    } finally {
      // Cancels the task also when the reader leaves, and when the reply cannot be used. The server may not have seen a message that it did
      // not answer, and its task may still wait: only an abort cancels that one.
      if (reply.taskId !== undefined && !reply.isSettled && !isLeft && (reply.isBound || signal.aborted))
        platform.background(this.#canceller.cancel(endpoint, reply.taskId, { platform, headers }));
    }
    yield* this.#connection.named(endpoint.url, reply.rest());
    if (!reply.isSettled) throw new A2AConnectionError(`${this.#where()}the reply ended before the task did`);
    const { status, taskId = '', contextId: answeredIn } = reply;
    if (!status || status.state === 'TASK_STATE_COMPLETED') return;
    const { state } = status;
    const params = isWaiting(state) ? toRequest(status, taskId, answeredIn ?? '', question?.callId) : undefined;
    if (params) yield* requestInput(context, params);
    else yield this.reportTask(context, { taskId, contextId: answeredIn, state, words: wordsOf(status) });
  }

  /**
   * Merges headers, ignoring the case of their names: the last one wins.
   * @throws A2AProtocolError for a header that cannot be sent. Its value may be a secret, so the error has only the name.
   */
  #mergeHeaders(...all: readonly (Readonly<Record<string, string>> | undefined)[]): Record<string, string> {
    const merged: Record<string, string> = {};
    for (const headers of all)
      for (const [name, value] of Object.entries(headers ?? {})) {
        try {
          new Headers([[name, value]]);
        } catch {
          throw new A2AProtocolError(
            `the agent "${this.name}": headers: the name or the value of ${JSON.stringify(name)} has characters that no header may have`,
          );
        }
        merged[name.toLowerCase()] = value;
      }
    return merged;
  }

  /**
   * Yields the items of the reply. If the reply is lost or ends before its task, requests the rest by the id of the task.
   * @param sent undefined if the server has the message, and the reply has the id of the task
   */
  async *#updates(
    endpoint: A2AEndpoint,
    sent: A2ASendRequest | undefined,
    reply: RemoteReply,
    request: A2ARequestContext,
  ): AsyncGenerator<A2AUpdate, void, undefined> {
    const { platform, signal } = request;
    if (sent) {
      try {
        yield* this.#connection.send(endpoint, sent, request);
        reply.end();
      } catch (error) {
        if (!reply.isBound || !isLostResponse(error)) throw error;
      }
      if (!reply.isBound || reply.isSettled) return;
    }
    let waitMs = sent ? FOLLOW_MS : 0;
    let { progress } = reply;
    let changedMs = platform.now();
    for (let requests = 0, failures = 0; !reply.isSettled; requests++) {
      if (waitMs > 0) await wait(waitMs, platform, signal);
      reply.restart();
      try {
        yield* this.#connection.follow(endpoint, reply.taskId ?? '', request);
        failures = 0;
      } catch (error) {
        if (++failures === MAX_FAILURES || !isLostResponse(error)) throw error;
      }
      const hasChanged = progress !== reply.progress;
      waitMs = hasChanged ? FOLLOW_MS : Math.min(Math.max(waitMs * 2, FOLLOW_MS), MAX_FOLLOW_MS);
      if (hasChanged) ({ progress } = reply);
      if (hasChanged) changedMs = platform.now();
      else if (platform.now() - changedMs > this.#timeoutMs) return;
      if (requests === MAX_REQUESTS) return;
    }
  }
}

/** Delay before a task is requested again: the first one, and the longest one, which is reached while the task does not change. */
const FOLLOW_MS = 1000;
const MAX_FOLLOW_MS = 30_000;
/** The most requests for a task that may fail one after the other, and the most requests for one reply. */
const MAX_FAILURES = 5;
const MAX_REQUESTS = 1000;

/** The ends of tasks that did not complete. */
const ENDS: Readonly<Record<string, string>> = {
  TASK_STATE_CANCELED: 'was cancelled',
  TASK_STATE_REJECTED: 'was rejected',
};
