import {
  type BaseLlmConnection,
  type Content,
  type FunctionCall,
  type FunctionResponse,
  type InvocationContext,
  LiveConnectionError,
  type LiveLlmResponse,
  type LiveRequest,
  toError,
} from '@eventloom/core';
import { endsWithPending, withoutClientId } from '@eventloom/llm-agent/internal';
import { type FoundCall, KnownCalls } from './known-calls.ts';
import { givenHandle } from './prepare-live-request.ts';
import type { QueueLiveRun } from './queue-live-run.ts';
import { UnconsumedRequests } from './unconsumed-requests.ts';

/**
 * The session with the model service during one agent's part of a live run, over several connections: the calls that
 * the service knows, and the requests that it was sent.
 */
export class ServiceSession {
  readonly #context: InvocationContext;
  readonly #calls: KnownCalls;
  readonly #unconsumed = new UnconsumedRequests();
  /** Calls of the session whose one response was sent. */
  #responded = new WeakSet<FunctionCall>();
  /** Calls that the model took back. */
  readonly #takenBack = new WeakSet<FunctionCall>();
  readonly #run: QueueLiveRun;
  #handle: string | undefined;
  /** True if the client was speaking at the point that the handle resumes. */
  #isActiveInHandle = false;
  #connection: BaseLlmConnection | undefined;
  #closing: Promise<void> | undefined;

  constructor(context: InvocationContext, run: QueueLiveRun) {
    this.#context = context;
    this.#calls = new KnownCalls(context);
    this.#run = run;
    if (!this.#run.hasServiceSession) this.#handle = givenHandle(context.runConfig.sessionResumption);
  }

  /** The handle to resume with; undefined when the next connection starts from the history. */
  get handle(): string | undefined {
    return this.#handle;
  }

  giveUpHandle(): void {
    this.#handle = undefined;
    this.#run.hasServiceSession = true;
  }

  /** True when a non-blocking call can get several responses. */
  get takesInterimResponses(): boolean {
    return this.#connection?.takesInterimResponses === true;
  }

  /** Starts on a connection with the history. Speech that the history does not hold is sent again. */
  async begin(connection: BaseLlmConnection, history: readonly Content[]): Promise<void> {
    this.#connection = connection;
    this.#closing = undefined;
    this.#run.hasServiceSession = true;
    this.#calls.began();
    this.#responded = new WeakSet();
    this.#unconsumed.begin(this.#run.isClientActive);
    if (history.length > 0) {
      this.#unconsumed.skip();
      await connection.sendHistory(history, endsWithPending(history));
    }
    await this.#sendAgain();
  }

  /** Resumes on a new connection with the handle. */
  async resume(connection: BaseLlmConnection): Promise<void> {
    this.#connection = connection;
    this.#closing = undefined;
    this.#run.hasServiceSession = true;
    this.#calls.resumed();
    this.#unconsumed.resume(this.#isActiveInHandle, this.#run.isClientActive);
    await this.#sendAgain();
  }

  async #sendAgain(): Promise<void> {
    for (let request = this.#unconsumed.peek(); request; request = this.#unconsumed.peek()) {
      this.#forgetResponses(request);
      await this.send(request);
      this.#unconsumed.shift();
    }
  }

  /** Records what an arriving response reveals about the sent requests. */
  arrived(response: LiveLlmResponse): void {
    const { inputTranscription, consumedSends } = response;
    if (inputTranscription?.text) this.#unconsumed.speechTranscribed();
    const tellsConsumed = this.#connection?.tellsConsumed === true;
    if (!tellsConsumed) this.#noteReply(response);
    if (this.#handleIn(response) === undefined) return;
    if (!tellsConsumed) this.#unconsumed.handleGiven();
    else if (consumedSends !== undefined) this.#unconsumed.consumed(consumedSends);
    this.#isActiveInHandle = this.#unconsumed.wasActive(this.#run.isClientActive);
  }

  #noteReply({ content, outputTranscription, turnComplete, interrupted }: LiveLlmResponse): void {
    if (content ?? outputTranscription) this.#unconsumed.replied();
    else if (turnComplete === true || interrupted === true) this.#unconsumed.turnEnded();
  }

  /** Records what a response reveals about the session, once its events are stored. */
  note(response: LiveLlmResponse): void {
    const handle = this.#handleIn(response);
    if (response.liveSessionResumptionUpdate?.resumable === false) return this.#calls.noteNotResumable();
    if (handle === undefined) return;
    this.#handle = handle;
    this.#calls.noteHandle();
  }

  /**
   * Returns the handle in a response. It is ignored unless sessionResumption is on, because the next connection would
   * not resume with it.
   */
  #handleIn({ liveSessionResumptionUpdate: update }: LiveLlmResponse): string | undefined {
    if (!this.#context.runConfig.sessionResumption || update?.resumable === false) return undefined;
    return update?.newHandle || undefined;
  }

  /** Notes that the model took calls back. Later results of them are not sent. */
  tookBack(ids: readonly string[]): void {
    for (const id of ids) {
      const found = this.#calls.find(id);
      if (found) this.#takenBack.add(found.call);
    }
  }

  /** Sends a request to the model. @throws LiveConnectionError when the connection is lost */
  async send(request: LiveRequest): Promise<void> {
    if (!('toolResponses' in request)) return this.#deliver(request);
    for (const response of request.toolResponses) {
      const { id } = response;
      const found = id === undefined ? undefined : this.#calls.find(id);
      if (found && this.#takenBack.has(found.call)) continue;
      const wire = withoutClientId({ functionResponse: response }).functionResponse ?? response;
      if (found && !this.#isTaken(found, wire)) {
        const text = inWords(response, found, this.#context.agent.name);
        if (text) await this.#deliver(text);
        continue;
      }
      await this.#deliver({ toolResponses: [wire] });
      if (found && response.willContinue !== true) this.#responded.add(found.call);
    }
  }

  /** Forgets responses that were lost and are sent again. */
  #forgetResponses(request: LiveRequest): void {
    for (const { id } of 'toolResponses' in request ? request.toolResponses : []) {
      const found = id === undefined ? undefined : this.#calls.find(id);
      if (found) this.#responded.delete(found.call);
    }
  }

  /** True when the service takes a response to the call: the session made it, can identify it, and got no response before. */
  #isTaken({ call, isKnown }: FoundCall, wire: FunctionResponse): boolean {
    const isNamed = wire.id !== undefined || this.#connection?.needsCallIds !== true;
    return isKnown && isNamed && !this.#responded.has(call);
  }

  async #deliver(request: LiveRequest): Promise<void> {
    const connection = this.#connection;
    if (!connection) throw new LiveConnectionError('the live connection is not open', { isRetryable: true });
    this.#unconsumed.add(request);
    try {
      await deliver(connection, request);
    } catch (error) {
      this.#unconsumed.remove(request);
      throw error;
    }
    if ('activityStart' in request) this.#run.isClientActive = true;
    if ('activityEnd' in request) this.#run.isClientActive = false;
  }

  /** Ends the connection and keeps the state of the session. */
  async hangUp(): Promise<void> {
    const closing = this.close();
    this.#connection = undefined;
    await closing;
  }

  /** Closes the connection, once, which ends its responses. It stays the session's until `hangUp`. */
  close(): Promise<void> {
    return (this.#closing ??= closeConnection(this.#context, this.#connection));
  }
}

async function deliver(connection: BaseLlmConnection, request: LiveRequest): Promise<void> {
  if ('blob' in request) return connection.sendRealtime(request.blob);
  if ('content' in request) return connection.sendContent(request.content);
  if ('toolResponses' in request) return sendResponses(connection, request.toolResponses);
  return 'activityStart' in request ? connection.sendActivityStart?.() : connection.sendActivityEnd?.();
}

function sendResponses(connection: BaseLlmConnection, responses: readonly FunctionResponse[]): Promise<void> {
  if (connection.sendToolResponses) return connection.sendToolResponses(responses);
  const parts = responses.map((functionResponse) => ({ functionResponse }));
  return connection.sendContent({ role: 'user', parts });
}

/**
 * Returns the result of a call as text, for a service that accepts no response to it. Undefined if the response only
 * ends the responses to the call.
 */
function inWords(
  { name, response = {} }: FunctionResponse,
  { call, author }: FoundCall,
  agentName: string,
): LiveRequest | undefined {
  if (Object.keys(response).length === 0) return undefined;
  const caller = author === agentName ? '' : ` by ${author}`;
  const text = `Function ${name ?? call.name}, called earlier${caller} with ${JSON.stringify(call.args ?? {})}, returned: ${JSON.stringify(response)}`;
  return { content: { role: 'user', parts: [{ text }] } };
}

/** Closes an unused connection. A failure to close it is reported to the platform. */
export async function closeConnection(
  { platform }: InvocationContext,
  connection: BaseLlmConnection | undefined,
): Promise<void> {
  try {
    await connection?.close();
  } catch (error) {
    platform.background(Promise.reject(toError(error)));
  }
}
