import { EventloomError } from '@eventloom/core';
import { describeKind, isCancelledRequest, isRecord, readWithoutEvents } from '@eventloom/core/internal';
import { checkId, type HostedRun, type ProtocolRequest, type RunItem, type RunOwner } from '@eventloom/server';
import { errorBody, errorResponse } from '@eventloom/server/internal';
import { A2AProtocolError, A2ARequestError, REQUEST_CODES } from './errors.ts';
import { runMetadataOf } from './hops.ts';
import { isOfRun } from './parts.ts';
import { CONTEXT_USER, readBody, userOf } from './request-owner.ts';
import { toAnswers, toContent } from './task-answers.ts';
import { formatTaskId, TASK_ID, TaskView } from './task-view.ts';
import { historyLengthOf, UserTasks } from './user-tasks.ts';
import { type A2AMessage, type A2AUpdate, isTerminal, isWaiting, readMessage, toLegacyUpdate } from './wire.ts';

/** The header in which a client names the version that it speaks. */
export const VERSION_HEADER = 'A2A-Version';

type A2AOperation = 'send' | 'stream' | 'get' | 'cancel' | 'subscribe' | 'list' | 'push' | 'card';

/** The methods of A2A 1.0, and those of 0.3, whose names have a slash. */
const METHODS: Readonly<Record<string, A2AOperation>> = {
  SendMessage: 'send',
  SendStreamingMessage: 'stream',
  GetTask: 'get',
  ListTasks: 'list',
  CancelTask: 'cancel',
  SubscribeToTask: 'subscribe',
  CreateTaskPushNotificationConfig: 'push',
  GetTaskPushNotificationConfig: 'push',
  ListTaskPushNotificationConfigs: 'push',
  DeleteTaskPushNotificationConfig: 'push',
  GetExtendedAgentCard: 'card',
  'message/send': 'send',
  'message/stream': 'stream',
  'tasks/get': 'get',
  'tasks/cancel': 'cancel',
  'tasks/resubscribe': 'subscribe',
  'tasks/pushNotificationConfig/set': 'push',
  'tasks/pushNotificationConfig/get': 'push',
  'tasks/pushNotificationConfig/list': 'push',
  'tasks/pushNotificationConfig/delete': 'push',
  'agent/getAuthenticatedExtendedCard': 'card',
};

/** One request of a client: reads it, and answers it with a result, a stream or an error of JSON-RPC. */
export class A2ACall {
  readonly #request: ProtocolRequest;
  readonly #owner: RunOwner;
  readonly #tasks: UserTasks;
  #id: string | number | null = null;
  #isLegacy = false;

  constructor(request: ProtocolRequest, owner: RunOwner) {
    this.#request = request;
    this.#owner = owner;
    this.#tasks = new UserTasks(request, owner);
  }

  async respond(): Promise<Response> {
    const { json, fault } = await readBody(this.#request);
    try {
      if (fault !== undefined) throw new A2ARequestError('PARSE_ERROR', fault);
      const { operation, params } = this.#read(json);
      if (!this.#request.user)
        checkId(`params: ${CONTEXT_USER} and the context id, or the id of a first message`, userOf(json));
      switch (operation) {
        case 'send':
          return this.#result(await this.#send(params));
        case 'stream':
          return await this.#streamed((signal) => this.#stream(params, signal));
        case 'get':
          return this.#task(await this.#tasks.load(params['id']), historyLengthOf(params));
        case 'cancel':
          return this.#task(await this.#cancel(params));
        case 'subscribe':
          return await this.#streamed((signal) => this.#subscribe(params, signal));
        case 'push':
          throw noPush();
        case 'card':
          throw new A2ARequestError(
            this.#isLegacy ? 'EXTENDED_AGENT_CARD_NOT_CONFIGURED' : 'UNSUPPORTED_OPERATION',
            'the agent has no other card than its public one',
          );
        case 'list':
          return this.#respond(await this.#tasks.list(params));
      }
    } catch (error) {
      const refusal = this.#refusal(error);
      if (!refusal) throw error;
      return Response.json(refusal, { headers: NO_STORE });
    }
  }

  #read(json: unknown): { readonly operation: A2AOperation; readonly params: Readonly<Record<string, unknown>> } {
    if (!isRecord(json) || json['jsonrpc'] !== '2.0')
      throw new A2ARequestError(
        'INVALID_REQUEST',
        'expected one request of JSON-RPC: {"jsonrpc": "2.0", "id", "method", "params"}',
      );
    const { id = null, method, params = {} } = json;
    if (typeof id !== 'string' && typeof id !== 'number' && id !== null)
      throw new A2ARequestError('INVALID_REQUEST', `id: expected a string, a number or null, got ${describeKind(id)}`);
    this.#id = id;
    if (typeof method !== 'string')
      throw new A2ARequestError(
        'INVALID_REQUEST',
        `method: expected a string, got ${describeKind(method)}; write "method": "SendMessage"`,
      );
    this.#isLegacy = method.includes('/');
    const version = this.#request.raw.headers.get(VERSION_HEADER) ?? '';
    if (version !== '' && !/^(?:1(?:\.\d{1,9}){0,2}|0\.3(?:\.\d{1,9})?)$/.test(version))
      throw new A2ARequestError(
        'VERSION_NOT_SUPPORTED',
        'this server speaks A2A 1.0 and 0.3; write one of them in the header A2A-Version',
      );
    const operation = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
    if (!operation)
      throw new A2ARequestError(
        'METHOD_NOT_FOUND',
        `method: A2A has no method ${JSON.stringify(method.slice(0, 60))}; write "method": "SendMessage", or "message/send" in A2A 0.3`,
      );
    if (!isRecord(params))
      throw new A2ARequestError(
        'INVALID_PARAMS',
        `params: expected an object, got ${describeKind(params)}; write "params": { … }`,
      );
    return { operation, params };
  }

  /** Returns the error of JSON-RPC for an error; undefined for one that the server answers, with its status and its report. */
  #refusal(error: unknown): object | undefined {
    if (A2ARequestError.isInstance(error)) {
      const { reason, message } = error;
      return this.#error(REQUEST_CODES[reason], message, reason);
    }
    if (A2AProtocolError.isInstance(error)) return this.#error(REQUEST_CODES.INVALID_PARAMS, error.message, error.code);
    const status = EventloomError.isInstance(error) ? errorResponse(error).status : 500;
    if (!REFUSED.has(status)) return undefined;
    const { error: message, code } = errorBody(error);
    return this.#error(REQUEST_CODES.INVALID_PARAMS, message, code);
  }

  #error(code: number, message: string, reason: string): object {
    const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' };
    return { jsonrpc: '2.0', id: this.#id, error: { code, message, data: [info] } };
  }

  #respond(result: object): Response {
    return Response.json({ jsonrpc: '2.0', id: this.#id, result }, { headers: NO_STORE });
  }

  #result(update: A2AUpdate): Response {
    return Response.json(this.#envelope(update), { headers: NO_STORE });
  }

  #envelope(update: A2AUpdate): object {
    return { jsonrpc: '2.0', id: this.#id, result: this.#isLegacy ? toLegacyUpdate(update) : update };
  }

  /** Answers with the task itself, not as one of several kinds of results. */
  #task(view: TaskView, historyLength?: number): Response {
    this.#tasks.checkSize(view);
    const task = view.toTask(historyLength);
    if (this.#isLegacy) return this.#result({ task });
    return this.#respond(task);
  }

  /**
   * Returns the response that streams the items as server-sent events. The first item decides between a stream and an error; an item that
   * is undefined is a heartbeat.
   */
  async #streamed(
    open: (signal: AbortSignal) => AsyncGenerator<A2AUpdate | undefined, void, undefined>,
  ): Promise<Response> {
    const encoder = new TextEncoder();
    const frame = (value: object): Uint8Array<ArrayBuffer> => encoder.encode(`data: ${JSON.stringify(value)}\n\n`);
    const client = new AbortController();
    const items = open(client.signal);
    let next: IteratorResult<A2AUpdate | undefined, void> | undefined = await items.next();
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        pull: async (controller) => {
          try {
            const { done, value } = next ?? (await items.next());
            next = undefined;
            if (client.signal.aborted) return;
            if (done === true) controller.close();
            else controller.enqueue(value ? frame(this.#envelope(value)) : encoder.encode(HEARTBEAT));
          } catch (error) {
            if (client.signal.aborted) return;
            const { error: message, code } = errorBody(error);
            controller.enqueue(frame(this.#refusal(error) ?? this.#error(REQUEST_CODES.INTERNAL_ERROR, message, code)));
            controller.close();
          }
        },
        // The run continues; its client can subscribe to it again.
        cancel: async () => {
          client.abort();
          await items.return();
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { ...NO_STORE, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };
    return new Response(body, { headers });
  }

  /** Runs a message and returns its task once it has ended or waits for an answer. */
  async #send(params: Readonly<Record<string, unknown>>): Promise<A2AUpdate> {
    const historyLength = historyLengthOf(params);
    const { view, run } = await this.#begin(params, false);
    if (run && !returnsAtOnce(params)) {
      const { signal } = this.#request.raw;
      for await (const item of run.items({ signal })) {
        if (item.event) view.add(item.event);
        // An error without an id is an error of the reader: the task continues.
        if (item.error && item.id === undefined) break;
        this.#tasks.checkSize(view);
      }
    }
    if (run) view.setState(await this.#tasks.stateOf(view));
    return { task: view.toTask(historyLength) };
  }

  async *#stream(
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): AsyncGenerator<A2AUpdate | undefined, void, undefined> {
    const historyLength = historyLengthOf(params);
    const { view, run } = await this.#begin(params, true);
    if (run && isWaiting(view.status.state)) view.setState({ invocationId: run.invocationId, state: 'running' });
    yield { task: view.toTask(historyLength, !run) };
    if (run) yield* this.#follow(view, run, signal);
  }

  async *#subscribe(
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): AsyncGenerator<A2AUpdate | undefined, void, undefined> {
    const view = await this.#tasks.load(params['id']);
    if (isTerminal(view.status.state))
      throw new A2ARequestError('UNSUPPORTED_OPERATION', 'the task has ended and sends nothing more; ask for the task');
    yield { task: view.toTask(historyLengthOf(params)) };
    if (isWaiting(view.status.state)) return;
    const { appName, userId, sessionId } = view.key;
    // The run is read from its first event. Chunks replace the artifacts that the task above has, so no text is shown twice.
    const run = this.#request.followRun({ appName, userId, sessionId, invocationId: view.invocationId });
    yield* this.#follow(view, run, signal);
  }

  /** Yields the changes of a task that its run makes, and its state at the end; undefined for a heartbeat. */
  async *#follow(
    view: TaskView,
    run: HostedRun,
    signal: AbortSignal,
  ): AsyncGenerator<A2AUpdate | undefined, void, undefined> {
    if (view.status.state !== 'TASK_STATE_WORKING')
      yield { statusUpdate: view.setState({ invocationId: run.invocationId, state: 'running' }) };
    let lost: RunItem['error'];
    for await (const { id, event, error } of run.items({ heartbeats: true, signal })) {
      const artifactUpdate = event && view.add(event);
      if (artifactUpdate) yield { artifactUpdate };
      else if (!event && !error) yield undefined;
      if (error && id === undefined) lost = error;
    }
    // The client has left.
    if (signal.aborted) return;
    const state = await this.#tasks.stateOf(view);
    // The reader lost the run, which continues: its client subscribes again.
    if (lost && (state.state === 'running' || state.state === 'queued'))
      throw new A2ARequestError('INTERNAL_ERROR', `${lost.error} (${lost.code})`);
    yield { statusUpdate: view.setState(state) };
  }

  /**
   * Starts the run of a message. Returns no run if the message answers none of the requests that its task waits for;
   * the task is unchanged.
   */
  async #begin(
    params: Readonly<Record<string, unknown>>,
    streaming: boolean,
  ): Promise<{ readonly view: TaskView; readonly run?: HostedRun }> {
    const message = readMessage('params.message', params['message']);
    if (message.role !== 'ROLE_USER')
      throw new A2ARequestError(
        'INVALID_PARAMS',
        'params.message.role: expected the role of the user; write "role": "ROLE_USER", or "user" in A2A 0.3',
      );
    if (message.parts.length === 0)
      throw new A2ARequestError(
        'INVALID_PARAMS',
        'params.message.parts: has no part; write "parts": [{ "text": "Hello" }]',
      );
    checkId('params.message.messageId', message.messageId);
    const { configuration } = params;
    if (
      isRecord(configuration) &&
      (configuration['pushNotificationConfig'] ?? configuration['taskPushNotificationConfig'])
    )
      throw noPush();
    if (message.taskId !== undefined) return this.#continue(message, message.taskId, streaming);
    const sessionId = message.contextId ?? message.messageId;
    checkId('params.message.contextId', sessionId);
    const newMessage = toContent(message);
    const customMetadata = runMetadataOf(message);
    const key = { ...this.#owner, sessionId };
    const sessions = this.#request.sessions(key.appName);
    if (!(await readWithoutEvents(sessions, key))) {
      this.#checkFirst(message);
      await sessions.getOrCreateSession(key);
    }
    const requestId = message.messageId;
    const run = await this.#request.startRun({ ...key, newMessage, requestId, customMetadata, streaming });
    const { invocationId } = run;
    const view = new TaskView({ ...key, invocationId, taskId: formatTaskId(invocationId, sessionId) });
    view.addMessage(message);
    return { view, run };
  }

  /** Refuses a message that no run can begin with, so that it leaves no session behind. */
  #checkFirst({ parts }: A2AMessage): void {
    const { maxBodyParts } = this.#request.limits;
    if (parts.length > maxBodyParts)
      throw new A2ARequestError('INVALID_PARAMS', `params.message.parts: has more than ${maxBodyParts} parts`);
    const index = parts.findIndex(isOfRun);
    if (index !== -1)
      throw new A2ARequestError(
        'INVALID_PARAMS',
        `params.message.parts[${index}]: is a call, a response or code, and a new context has no call; write text, a file or other data`,
      );
  }

  /** Sends an answer to the run of a task. */
  async #continue(
    message: A2AMessage,
    taskId: string,
    streaming: boolean,
  ): Promise<{ readonly view: TaskView; readonly run?: HostedRun }> {
    const view = await this.#tasks.load(taskId);
    const { appName, userId, sessionId } = view.key;
    const key = { appName, userId, sessionId };
    if (message.contextId !== undefined && message.contextId !== sessionId)
      throw new A2ARequestError(
        'INVALID_PARAMS',
        'params.message.contextId: the task belongs to another context; leave contextId out',
      );
    const requestId = message.messageId;
    const known = await this.#request.sessions(appName).findRun({ ...key, id: requestId });
    if (known && !isCancelledRequest(known)) {
      const { invocationId } = known;
      if (!view.runs.has(invocationId))
        throw new A2ARequestError('INVALID_PARAMS', 'params.message.messageId: the message belongs to another task');
      view.invocationId = invocationId;
      return { view, run: this.#request.followRun({ ...key, invocationId }) };
    }
    const { state } = view.status;
    if (!isWaiting(state))
      throw new A2ARequestError(
        'UNSUPPORTED_OPERATION',
        isTerminal(state)
          ? 'params.message.taskId: the task has ended; send the message without taskId, in the same context'
          : 'params.message.taskId: the task is working, and takes a message only when it requires input',
      );
    const newMessage = toAnswers(message, view.waiting);
    if (!newMessage) return { view };
    const customMetadata = { ...runMetadataOf(message), [TASK_ID]: taskId };
    const run = await this.#request.startRun({ ...key, newMessage, requestId, customMetadata, streaming });
    view.addMessage(message);
    view.invocationId = run.invocationId;
    return { view, run };
  }

  async #cancel(params: Readonly<Record<string, unknown>>): Promise<TaskView> {
    const view = await this.#tasks.load(params['id']);
    const { state } = view.status;
    if (isTerminal(state))
      throw new A2ARequestError('TASK_NOT_CANCELABLE', 'the task has ended; a task that has ended cannot be cancelled');
    const { appName, userId, sessionId } = view.key;
    await this.#request.cancelRun({ appName, userId, sessionId, invocationId: view.invocationId });
    return this.#tasks.load(params['id']);
  }
}

/** The statuses of errors of clients, which are errors of JSON-RPC. The server answers the others itself. */
const REFUSED: ReadonlySet<number> = new Set([400, 404, 409, 410, 413, 422]);
const HEARTBEAT = ': heartbeat\n\n';
const NO_STORE = { 'cache-control': 'no-cache, no-transform' };

function noPush(): A2ARequestError {
  return new A2ARequestError(
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    'this server sends no push notifications, as its card says; subscribe to the task, or ask for it',
  );
}

/** True if the client does not wait for the end of the task. */
function returnsAtOnce({ configuration }: Readonly<Record<string, unknown>>): boolean {
  if (!isRecord(configuration)) return false;
  return configuration['returnImmediately'] === true || configuration['blocking'] === false;
}
