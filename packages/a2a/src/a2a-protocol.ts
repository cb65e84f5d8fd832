import {
  type BaseAgent,
  type BaseSessionService,
  ConfigurationError,
  type Content,
  EventloomError,
  type FunctionCall,
  InvalidRequestError,
  type Part,
  REQUEST_CONFIRMATION,
  REQUEST_CREDENTIAL,
  type RunRecord,
} from '@eventloom/core';
import {
  checkOptions,
  describeKind,
  isBaseAgent,
  isRecord,
  type OptionRules,
  wrongOption,
} from '@eventloom/core/internal';
import {
  AppNotFoundError,
  checkId,
  type CommonRequest,
  type CommonRoute,
  type HostedRun,
  type Protocol,
  type ProtocolRequest,
  type RunItem,
  type RunOwner,
  type RunState,
} from '@eventloom/server';
import { errorBody, errorResponse } from '@eventloom/server/internal';
import { type AgentCard, createAgentCard, withLegacyFields } from './agent-card.ts';
import { A2AProtocolError, A2ARequestError, REQUEST_CODES } from './errors.ts';
import { runMetadataOf } from './hops.ts';
import { isFunctionResponse, isOfRun, toPart } from './parts.ts';
import { formatTaskId, parseTaskId, TASK_ID, TaskView } from './task-view.ts';
import {
  byTime,
  findTasks,
  type ListedTask,
  MAX_READ_TASKS,
  pageTokenOf,
  readListRequest,
  tooMany,
} from './task-list.ts';
import {
  type A2AMessage,
  type A2ATask,
  type A2ATaskState,
  type A2AUpdate,
  isTerminal,
  isWaiting,
  readMessage,
  toLegacyUpdate,
} from './wire.ts';

/** Options of `a2a`. */
export interface A2AOptions {
  /** The agents that are offered, by the name of their app. Other apps of the server cannot be reached over A2A. */
  readonly agents: Readonly<Record<string, BaseAgent>>;
  /**
   * The address at which clients reach the server, with the path of a proxy in front of it: `https://agents.example.com`. The cards name
   * it. Default: the origin of the request for the card.
   */
  readonly url?: string | undefined;
  /** Fields of the cards of all agents. They win over what the agents say. Default: none. */
  readonly card?: Partial<AgentCard> | undefined;
}

const OPTIONS: OptionRules<A2AOptions> = {
  agents: { is: 'object', wanted: 'agents by the name of their app', write: '{ weather: rootAgent }' },
  url: { is: 'text', write: "'https://agents.example.com'" },
  card: { is: 'object', write: "{ version: '2.1.0' }" },
};

const PATH = '/a2a/{appName}';

/**
 * Creates the protocol that serves agents to clients of A2A (Agent2Agent) 1.0 and 0.3, as JSON-RPC at `/a2a/{appName}`.
 *
 * A task is a run, with the runs that continue it by answers; the context id is the id of the session. Tasks are read from the session, so
 * they survive restarts, and every process with the same sessions knows them. A message with a `messageId` that the session knows is not
 * run again: its run answers. Without `authenticate` each context has a user of its own, as in the ADK: `A2A_USER_` and the context id.
 *
 * The card of an agent is at `/a2a/{appName}/.well-known/agent-card.json`, and that of the first agent also at
 * `/.well-known/agent-card.json`. Cards are public.
 * @throws ConfigurationError for an unknown option or one of the wrong kind
 *
 * @example
 * import { createServer } from '@eventloom/server';
 *
 * const server = createServer({ runners: [runner], protocols: [a2a({ agents: { weather: agent } })] });
 */
export function a2a(options: A2AOptions): Protocol {
  checkOptions('a2a', OPTIONS, options);
  const { agents, url, card: fields } = options;
  const [first] = Object.keys(agents ?? {});
  if (first === undefined)
    throw wrongOption('a2a', 'agents', 'agents by the name of their app', agents, '{ weather: rootAgent }');
  for (const [appName, agent] of Object.entries(agents))
    if (!isBaseAgent(agent)) throw wrongOption('a2a', `agents.${appName}`, 'an agent', agent, 'rootAgent');
  if (url !== undefined && !URL.canParse(url))
    throw new ConfigurationError(
      `a2a: url: expected an address, got ${JSON.stringify(url.slice(0, 200))}; write url: 'https://agents.example.com'`,
    );
  const agentOf = (appName: string): BaseAgent => {
    const agent = Object.hasOwn(agents, appName) ? agents[appName] : undefined;
    if (agent) return agent;
    throw new AppNotFoundError(`no agent is offered over A2A at this address; the option agents of a2a names the apps`);
  };
  const cardAt = (request: CommonRequest, appName: string): Response => {
    const base = (url ?? new URL(request.raw.url).origin).replace(/\/$/, '');
    const card = createAgentCard(agentOf(appName), `${base}/a2a/${encodeURIComponent(appName)}`, fields);
    // Clients of 1.0 name their version. Those that do not may know 0.3 alone.
    const isNew = request.raw.headers.get(VERSION_HEADER)?.startsWith('1') === true;
    return Response.json(isNew ? card : withLegacyFields(card), {
      headers: { 'cache-control': 'no-cache', vary: VERSION_HEADER },
    });
  };
  const cardRoute = { method: 'get', answer: { schema: { type: 'object' } }, isPublic: true } as const;
  const commonRoutes: CommonRoute[] = [
    {
      ...cardRoute,
      path: '/.well-known/agent-card.json',
      operationId: 'a2aAgentCard',
      summary: 'The A2A card of the first agent',
      handle: (request) => cardAt(request, first),
    },
    {
      ...cardRoute,
      path: `${PATH}/.well-known/agent-card.json`,
      operationId: 'a2aAppAgentCard',
      summary: 'The A2A card of an agent',
      errors: [404],
      handle: (request) => cardAt(request, request.param('appName')),
    },
  ];
  const call: Protocol['routes'][number] = {
    method: 'post',
    path: PATH,
    operationId: 'a2aCall',
    summary: 'A request of A2A as JSON-RPC. Methods that stream answer with server-sent events',
    headers: { [VERSION_HEADER]: 'The version that the client speaks. Default: that of the method name.' },
    bodySchema: {
      type: 'object',
      properties: { jsonrpc: { const: '2.0' }, id: {}, method: { type: 'string' }, params: { type: 'object' } },
      required: ['jsonrpc', 'method'],
    },
    answer: { schema: { type: 'object' } },
    errors: [404],
    owner: ownerOf,
    async handle(request) {
      agentOf(request.param('appName'));
      return new A2ACall(request, await ownerOf(request)).answer();
    },
  };
  return { name: 'a2a', routes: [call], commonRoutes };
}

const VERSION_HEADER = 'A2A-Version';

/** Returns the user of a request: the authenticated one, or the user of the request's context. */
async function ownerOf(request: CommonRequest): Promise<RunOwner> {
  const appName = request.param('appName');
  if (request.user) return { appName, userId: request.user.userId };
  // A body that is no JSON belongs to nobody, and its answer says so.
  const { json } = await readBody(request);
  const userId = userOf(json);
  try {
    checkId('contextId', userId);
    return { appName, userId };
  } catch {
    // Its request is refused, as an error of JSON-RPC.
    return { appName, userId: NOBODY };
  }
}

const NOBODY = 'A2A_USER_';

/** Returns the user of the context that a request names. */
function userOf(json: unknown): string {
  return NOBODY + contextOf(isRecord(json) && isRecord(json['params']) ? json['params'] : {});
}

/** Reads the body of a request. @returns the error of a body that is not JSON. @throws what `request.bytes` throws */
async function readBody(request: CommonRequest): Promise<{ readonly json?: unknown; readonly fault?: string }> {
  try {
    return { json: await request.json() };
  } catch (error) {
    if (InvalidRequestError.isInstance(error)) return { fault: error.message };
    throw error;
  }
}

/**
 * Returns the context id of a request. That of a message without one is the id of the message, so that a Worker and the object that it
 * forwards to agree on it, and that a message which is sent again finds its session.
 */
function contextOf(params: Readonly<Record<string, unknown>>): string {
  const { message, id, taskId, contextId } = params;
  const named = isRecord(message)
    ? [message['taskId'], message['contextId'], message['messageId']]
    : [id ?? taskId, contextId];
  const [task, ...others] = named;
  const session = typeof task === 'string' ? parseTaskId(task)?.sessionId : undefined;
  const found = [session, ...others].find((each) => typeof each === 'string' && each !== '');
  return typeof found === 'string' ? found : '';
}

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

/** Events that are read at once from a session. */
const PAGE = 500;

/** One request of a client. */
class A2ACall {
  readonly #request: ProtocolRequest;
  readonly #owner: RunOwner;
  #id: string | number | null = null;
  #isLegacy = false;

  constructor(request: ProtocolRequest, owner: RunOwner) {
    this.#request = request;
    this.#owner = owner;
  }

  async answer(): Promise<Response> {
    const { json, fault } = await readBody(this.#request);
    try {
      if (fault !== undefined) throw new A2ARequestError('PARSE_ERROR', fault);
      const { operation, params } = this.#read(json);
      if (!this.#request.user)
        checkId(`params: ${NOBODY} and the context id, or the id of a first message`, userOf(json));
      switch (operation) {
        case 'send':
          return this.#result(await this.#send(params));
        case 'stream':
          return await this.#streamed((signal) => this.#stream(params, signal));
        case 'get':
          return this.#task(await this.#load(params), historyLengthOf(params));
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
          return await this.#list(params);
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

  #result(update: A2AUpdate): Response {
    return Response.json(this.#envelope(update), { headers: NO_STORE });
  }

  #envelope(update: A2AUpdate): object {
    return { jsonrpc: '2.0', id: this.#id, result: this.#isLegacy ? toLegacyUpdate(update) : update };
  }

  /** Answers with a task by itself: not as one of several results. */
  #task(view: TaskView, historyLength?: number): Response {
    this.#checkSize(view);
    const task = view.toTask(historyLength);
    if (this.#isLegacy) return this.#result({ task });
    return Response.json({ jsonrpc: '2.0', id: this.#id, result: task }, { headers: NO_STORE });
  }

  #checkSize({ chars }: TaskView): void {
    if (chars > this.#request.limits.maxRunChars)
      throw new A2ARequestError(
        'UNSUPPORTED_OPERATION',
        'the artifacts of the task exceed the maximum size of one answer; send the message with the method that streams',
      );
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
        // An error without an id is one of reading: the task continues.
        if (item.error && item.id === undefined) break;
        this.#checkSize(view);
      }
    }
    if (run) view.setState(await this.#stateOf(view));
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
    const view = await this.#load(params);
    if (isTerminal(view.status.state))
      throw new A2ARequestError('UNSUPPORTED_OPERATION', 'the task has ended and sends nothing more; ask for the task');
    yield { task: view.toTask(historyLengthOf(params)) };
    if (isWaiting(view.status.state)) return;
    const { appName, userId, sessionId } = view.key;
    // Chunks replace what the task has of their artifact, so nothing is shown twice.
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
    const state = await this.#stateOf(view);
    // The reader lost the run, which continues: its client subscribes again.
    if (lost && (state.state === 'running' || state.state === 'queued'))
      throw new A2ARequestError('INTERNAL_ERROR', `${lost.error} (${lost.code})`);
    yield { statusUpdate: view.setState(state) };
  }

  #stateOf(view: TaskView): Promise<RunState> {
    const { appName, userId, sessionId } = view.key;
    return this.#request.runState({ appName, userId, sessionId, invocationId: view.invocationId });
  }

  /** Starts the run of a message. Returns no run if the message answers none of the requests that its task waits for; the task is unchanged. */
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
    if (!(await sessions.getSession({ ...key, config: { numRecentEvents: 0 } }))) {
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
    const view = await this.#load({ id: taskId });
    const { appName, userId, sessionId } = view.key;
    const key = { appName, userId, sessionId };
    if (message.contextId !== undefined && message.contextId !== sessionId)
      throw new A2ARequestError(
        'INVALID_PARAMS',
        'params.message.contextId: the task belongs to another context; leave contextId out',
      );
    const requestId = message.messageId;
    const known = await this.#request.sessions(appName).findRun({ ...key, id: requestId });
    if (known) {
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

  /** Answers with a page of the user's tasks, the latest first. */
  async #list(params: Readonly<Record<string, unknown>>): Promise<Response> {
    const { contextId, state, sinceMs, pageSize, after, withArtifacts } = readListRequest(params);
    const historyLength = historyLengthOf(params);
    if (contextId !== undefined) checkId('params.contextId', contextId);
    else if (!this.#request.user)
      throw new A2ARequestError(
        'INVALID_PARAMS',
        'params.contextId: is missing; a server without users lists the tasks of one context',
      );
    const sessions = this.#request.sessions(this.#owner.appName);
    const found = await findTasks(sessions, this.#owner, contextId, sinceMs);
    if (state !== undefined && found.length > MAX_READ_TASKS) throw tooMany(`${MAX_READ_TASKS} tasks`, contextId);
    const wanted = state === undefined ? found : await this.#inState(found, state);
    const begin = after ? wanted.findIndex((each) => byTime(each, after) > 0) : 0;
    const tasks: A2ATask[] = [];
    let next = begin === -1 ? wanted.length : begin;
    let chars = 0;
    for (; next < wanted.length && tasks.length < pageSize; next++) {
      const view = await this.#loadListed(wanted[next], withArtifacts);
      if (!view) continue;
      chars += view.chars;
      // A page may have fewer tasks.
      if (tasks.length > 0 && chars > this.#request.limits.maxRunChars) break;
      tasks.push(view.toTask(historyLength, withArtifacts));
    }
    const last = wanted[next - 1];
    const nextPageToken = last && next < wanted.length ? pageTokenOf(last) : '';
    const result = { tasks, nextPageToken, pageSize, totalSize: wanted.length };
    return Response.json({ jsonrpc: '2.0', id: this.#id, result }, { headers: NO_STORE });
  }

  async #inState(tasks: readonly ListedTask[], state: A2ATaskState): Promise<ListedTask[]> {
    const matching: ListedTask[] = [];
    for (const task of tasks) if ((await this.#loadListed(task, false))?.status.state === state) matching.push(task);
    return matching;
  }

  /** Reads a task of a list; undefined if it was deleted since the list was made. */
  async #loadListed(task: ListedTask | undefined, withArtifacts: boolean): Promise<TaskView | undefined> {
    try {
      return task && (await this.#load({ id: task.taskId }, withArtifacts));
    } catch (error) {
      if (A2ARequestError.isInstance(error) && error.reason === 'TASK_NOT_FOUND') return undefined;
      throw error;
    }
  }

  async #cancel(params: Readonly<Record<string, unknown>>): Promise<TaskView> {
    const view = await this.#load(params);
    const { state } = view.status;
    if (isTerminal(state))
      throw new A2ARequestError('TASK_NOT_CANCELABLE', 'the task has ended; a task that has ended cannot be cancelled');
    if (isWaiting(state))
      throw new A2ARequestError(
        'TASK_NOT_CANCELABLE',
        'the task waits for an answer and runs nothing; refuse what it asks for',
      );
    const { appName, userId, sessionId } = view.key;
    await this.#request.cancelRun({ appName, userId, sessionId, invocationId: view.invocationId });
    view.setState(await this.#stateOf(view));
    return view;
  }

  /** Reads a task from its session. */
  async #load(params: Readonly<Record<string, unknown>>, withArtifacts = true): Promise<TaskView> {
    const { id: taskId } = params;
    const parsed = typeof taskId === 'string' ? parseTaskId(taskId) : undefined;
    if (typeof taskId !== 'string' || !parsed) throw noTask();
    const { invocationId, sessionId } = parsed;
    checkId('params.id', sessionId);
    const key = { ...this.#owner, sessionId };
    const sessions = this.#request.sessions(key.appName);
    const record = await sessions.findRun({ ...key, id: invocationId });
    // A run is found by the id of its request, too.
    if (!record || record.invocationId !== invocationId) throw noTask();
    const view = new TaskView({ ...key, invocationId, taskId }, withArtifacts);
    await this.#readEvents(sessions, view, record);
    view.setState(await this.#stateOf(view));
    return view;
  }

  /** Reads the events of a task, page by page, up to the end of its last run. */
  async #readEvents(sessions: BaseSessionService, view: TaskView, first: RunRecord): Promise<void> {
    const { appName, userId, sessionId } = view.key;
    const key = { appName, userId, sessionId };
    let record: RunRecord | undefined = first;
    for (let seq = first.firstSeq - 1; ;) {
      const config = { afterSeq: seq, beforeSeq: seq + PAGE + 1 };
      const session = await sessions.getSession({ ...key, config });
      if (!session) throw noTask();
      for (const event of session.events) view.addStored(event);
      this.#checkSize(view);
      seq += PAGE;
      if (seq >= session.lastSeq) return;
      if (view.isAsking) continue;
      if (record?.invocationId !== view.invocationId)
        record = await sessions.findRun({ ...key, id: view.invocationId });
      if (record?.end && seq >= record.end.lastSeq) return;
    }
  }
}

/** The statuses of errors of clients, which are errors of JSON-RPC. The server answers the others itself. */
const REFUSED: ReadonlySet<number> = new Set([400, 404, 409, 410, 413, 422]);
const HEARTBEAT = ': heartbeat\n\n';
const NO_STORE = { 'cache-control': 'no-cache, no-transform' };

function noTask(): A2ARequestError {
  return new A2ARequestError(
    'TASK_NOT_FOUND',
    'params: the user has no task of this id; write the id of a task that was returned to this user',
  );
}

function noPush(): A2ARequestError {
  return new A2ARequestError(
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    'this server sends no push notifications, as its card says; subscribe to the task, or ask for it',
  );
}

function historyLengthOf(params: Readonly<Record<string, unknown>>): number | undefined {
  const { configuration } = params;
  const length = (isRecord(configuration) ? configuration : params)['historyLength'] ?? undefined;
  if (length === undefined || (typeof length === 'number' && Number.isInteger(length) && length >= 0)) return length;
  throw new A2ARequestError('INVALID_PARAMS', 'historyLength: expected an integer of at least 0');
}

/** True if the client does not wait for the end of the task. */
function returnsAtOnce({ configuration }: Readonly<Record<string, unknown>>): boolean {
  if (!isRecord(configuration)) return false;
  return configuration['returnImmediately'] === true || configuration['blocking'] === false;
}

function toContent({ parts }: A2AMessage): Content {
  return { role: 'user', parts: parts.map((part, index) => toPart(`params.message.parts[${index}]`, part)) };
}

/**
 * Returns the message with which a client answers what its task waits for: the responses in its parts, or its text or data if the task waits
 * for one answer. Undefined if it answers nothing.
 */
function toAnswers(message: A2AMessage, waiting: readonly FunctionCall[]): Content | undefined {
  const responses = message.parts.filter(isFunctionResponse);
  if (responses.length > 0) return toContent({ ...message, parts: responses });
  const [call, ...others] = waiting;
  if (!call || others.length > 0) return undefined;
  const given = message.parts.find(({ data }) => isRecord(data))?.data;
  const text = message.parts
    .flatMap((part) => part.text ?? [])
    .join('\n')
    .trim();
  const response = isRecord(given) ? given : responseOf(call, text);
  if (!response) return undefined;
  const { id, name } = call;
  const functionResponse: Part['functionResponse'] = {
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    response,
  };
  return { role: 'user', parts: [{ functionResponse }] };
}

/** Returns the response to a call that a text contains; undefined if it contains none. Only an exact yes or no confirms or refuses a call: a misread word would run a tool. */
function responseOf({ name }: FunctionCall, text: string): Record<string, unknown> | undefined {
  if (text === '' || name === REQUEST_CREDENTIAL) return undefined;
  if (name !== REQUEST_CONFIRMATION) return { result: text };
  const word = text.toLowerCase().replace(/[.!]$/, '');
  return word === 'yes' || word === 'no' ? { confirmed: word === 'yes' } : undefined;
}
