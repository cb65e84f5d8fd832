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

/** The service's side of one agent's part of a live run, which goes on over several connections: what it knows, and what it is sent. */
export class ServiceSession {
  readonly #context: InvocationContext;
  readonly #calls: KnownCalls;
  readonly #unconsumed = new UnconsumedRequests();
  /** Calls of its session that it was sent the one response to that it takes. */
  #answered = new WeakSet<FunctionCall>();
  readonly #run: QueueLiveRun;
  #handle: string | undefined;
  /** Whether the handle stands for a session in which the client speaks. */
  #isActiveInHandle = false;
  #connection: BaseLlmConnection | undefined;
  #closing: Promise<void> | undefined;

  constructor(context: InvocationContext, run: QueueLiveRun) {
    this.#context = context;
    this.#calls = new KnownCalls(context);
    this.#run = run;
    if (!this.#run.hasServiceSession) this.#handle = givenHandle(context.runConfig.sessionResumption);
  }

  /** What it can go on with; undefined when it is to be told the history. */
  get handle(): string | undefined {
    return this.#handle;
  }

  giveUpHandle(): void {
    this.#handle = undefined;
    this.#run.hasServiceSession = true;
  }

  /** True when a call that does not keep the model from speaking can be answered in several responses. */
  get takesInterimResponses(): boolean {
    return this.#connection?.takesInterimResponses === true;
  }

  /** It begins on a connection, told the history. What was spoken and no history tells of is said again. */
  async begin(connection: BaseLlmConnection, history: readonly Content[]): Promise<void> {
    this.#connection = connection;
    this.#closing = undefined;
    this.#run.hasServiceSession = true;
    this.#calls.began();
    this.#answered = new WeakSet();
    this.#unconsumed.begin(this.#run.isClientActive);
    if (history.length > 0) {
      this.#unconsumed.skip();
      await connection.sendHistory(history, endsWithPending(history));
    }
    await this.#sendAgain();
  }

  /** Resumes on a new connection, by its handle. */
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
      this.#forgetAnswers(request);
      await this.send(request);
      this.#unconsumed.shift();
    }
  }

  /** A response is there: what it tells of what was sent until now. */
  arrived(response: LiveLlmResponse): void {
    const { inputTranscription, consumedSends } = response;
    if (inputTranscription?.text) this.#unconsumed.spokenIsTold();
    const isTelling = this.#connection?.tellsConsumed === true;
    if (!isTelling) this.#noteAnswer(response);
    if (this.#handleIn(response) === undefined) return;
    if (!isTelling) this.#unconsumed.spokenIsKept();
    else if (consumedSends !== undefined) this.#unconsumed.consumed(consumedSends);
    this.#isActiveInHandle = this.#unconsumed.wasActive(this.#run.isClientActive);
  }

  #noteAnswer({ content, outputTranscription, turnComplete, interrupted }: LiveLlmResponse): void {
    if (content ?? outputTranscription) this.#unconsumed.answered();
    else if (turnComplete === true || interrupted === true) this.#unconsumed.turnEnded();
  }

  /** The events of a response are stored: what it tells of the session. */
  note(response: LiveLlmResponse): void {
    const handle = this.#handleIn(response);
    if (response.liveSessionResumptionUpdate?.resumable === false) return this.#calls.noteNotResumable();
    if (handle === undefined) return;
    this.#handle = handle;
    this.#calls.noteHandle();
  }

  /** The handle in a response. Ignored unless sessionResumption is on: the next connection would not be asked to resume with it. */
  #handleIn({ liveSessionResumptionUpdate: update }: LiveLlmResponse): string | undefined {
    if (!this.#context.runConfig.sessionResumption || update?.resumable === false) return undefined;
    return update?.newHandle || undefined;
  }

  /** @throws LiveConnectionError when the connection is lost */
  async send(request: LiveRequest): Promise<void> {
    if (!('toolResponses' in request)) return this.#deliver(request);
    for (const response of request.toolResponses) {
      const { id } = response;
      const found = id === undefined ? undefined : this.#calls.find(id);
      const wire = withoutClientId({ functionResponse: response }).functionResponse ?? response;
      if (found && !this.#isTaken(found, wire)) {
        const told = inWords(response, found, this.#context.agent.name);
        if (told) await this.#deliver(told);
        continue;
      }
      await this.#deliver({ toolResponses: [wire] });
      if (found && response.willContinue !== true) this.#answered.add(found.call);
    }
  }

  /** What answered calls is lost, and sent again. */
  #forgetAnswers(request: LiveRequest): void {
    for (const { id } of 'toolResponses' in request ? request.toolResponses : []) {
      const found = id === undefined ? undefined : this.#calls.find(id);
      if (found) this.#answered.delete(found.call);
    }
  }

  /** True where a response can be one: to a call that the session made, can be told by its name, and was not answered before. */
  #isTaken({ call, isKnown }: FoundCall, wire: FunctionResponse): boolean {
    const isNamed = wire.id !== undefined || this.#connection?.needsCallIds !== true;
    return isKnown && isNamed && !this.#answered.has(call);
  }

  async #deliver(request: LiveRequest): Promise<void> {
    const connection = this.#connection;
    if (!connection) throw new LiveConnectionError('there is no connection', { isRetryable: true });
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

  /** Ends the connection; what is known of the session stays. */
  async hangUp(): Promise<void> {
    const closing = this.close();
    this.#connection = undefined;
    await closing;
  }

  /** Closes the connection, once, which ends what it says; it is the session's until that hangs up. */
  close(): Promise<void> {
    return (this.#closing ??= closeConnection(this.#context, this.#connection));
  }
}

function deliver(connection: BaseLlmConnection, request: LiveRequest): Promise<void> {
  if ('blob' in request) return connection.sendRealtime(request.blob);
  if ('content' in request) return connection.sendContent(request.content);
  if ('toolResponses' in request) return connection.sendToolResponses(request.toolResponses);
  return 'activityStart' in request ? connection.sendActivityStart() : connection.sendActivityEnd();
}

/** What came of a call that is not to be answered by a response. Nothing, when only the end of its responses is told. */
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

/** Closes a connection that is no longer wanted. A failure to close it is reported to the platform. */
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
