import { readMessage, runMetadataOf, TaskView, toA2AParts, toLegacyUpdate, toPart } from '@eventloom/a2a/internal';
import {
  type Content,
  type Event,
  EventloomError,
  InvalidRequestError,
  type Part,
  REQUEST_CONFIRMATION,
  type RunConfig,
  type Session,
  toError,
} from '@eventloom/core';
import {
  Calls,
  checkOptions,
  checkRunConfig,
  describeKind,
  isBaseAgent,
  isRecord,
  type OptionRules,
  wrongOption,
} from '@eventloom/core/internal';
import type {
  A2aMessage,
  A2AStreamEventData,
  A2aTask,
  A2aTaskArtifactUpdateEvent,
  A2aTaskStatusUpdateEvent,
} from './a2a-types.ts';
import { getLogger } from './logger.ts';
import { toRunConfig } from './run-config.ts';
import { type AdkRunnerConfig, AdkRunner, isRunner } from './runner.ts';
import { getPendingUserInputRequests } from './user-input-requests.ts';

/** A runner, its options, or a function that returns one of them. */
export type RunnerOrRunnerConfig =
  | AdkRunner
  | AdkRunnerConfig
  | (() => AdkRunner | AdkRunnerConfig)
  | (() => Promise<AdkRunner | AdkRunnerConfig>);

/** A request of A2A: the fields of a `RequestContext` of `@a2a-js/sdk` that the executor reads. */
export interface A2aRequestContext {
  readonly userMessage: A2aMessage;
  readonly taskId: string;
  readonly contextId: string;
  /** The task that the message continues. */
  readonly task?: A2aTask | undefined;
}

/** Takes the items of an answer: an `ExecutionEventBus` of `@a2a-js/sdk`. */
export interface A2aEventBus {
  publish(event: A2AStreamEventData): void;
}

/** The session and the message of an execution. */
export interface ExecutorContext {
  userId: string;
  sessionId: string;
  appName: string;
  readonlyState: Readonly<Record<string, unknown>>;
  events: readonly Event[];
  userContent: Content;
  requestContext: A2aRequestContext;
}

/** Called before the run. An error that it throws fails the task. */
export type BeforeExecuteCallback = (reqCtx: A2aRequestContext) => Promise<void>;

/** Called with each event of the run that changes an artifact, and with the change. */
export type AfterEventCallback = (
  ctx: ExecutorContext,
  adkEvent: Event,
  a2aEvent?: A2aTaskArtifactUpdateEvent,
) => Promise<void>;

/** Called with the last status of the task, before it is published. An error that it throws is logged. */
export type AfterExecuteCallback = (
  ctx: ExecutorContext,
  finalA2aEvent: A2aTaskStatusUpdateEvent,
  err?: Error,
) => Promise<void>;

/** Options of an `A2AAgentExecutor`. */
export interface AgentExecutorConfig {
  readonly runner: RunnerOrRunnerConfig;
  /** Options of each run. `allowRemoteToolConfirmation: true` lets clients confirm tool calls. */
  readonly runConfig?: (RunConfig & { readonly allowRemoteToolConfirmation?: boolean | undefined }) | undefined;
  readonly beforeExecuteCallback?: BeforeExecuteCallback | undefined;
  readonly afterEventCallback?: AfterEventCallback | undefined;
  readonly afterExecuteCallback?: AfterExecuteCallback | undefined;
}

const RUNNER = {
  is: 'object or function',
  wanted: 'a runner, its options, or a function that returns one of them',
  write: '{ agent, appName, sessionService }',
} as const;
const OPTIONS: OptionRules<AgentExecutorConfig> = {
  runner: RUNNER,
  runConfig: { is: 'object', write: '{ maxLlmCalls: 50 }' },
  beforeExecuteCallback: 'function',
  afterEventCallback: 'function',
  afterExecuteCallback: 'function',
};

/**
 * Runs an agent for a server of `@a2a-js/sdk` 0.3, as programs that were written for `@google/adk` do. Tasks are in the
 * server's task store; the protocol `a2a` of `@eventloom/a2a` reads them from sessions instead, and can cancel them.
 * Each context has a user of its own, `A2A_USER_` and the context id.
 *
 * @example
 * const executor = new A2AAgentExecutor({ runner: { agent, appName: 'weather', sessionService: new InMemorySessionService() } });
 */
export class A2AAgentExecutor {
  readonly #config: AgentExecutorConfig;
  /** Undefined if a function of the program returns the runner. */
  readonly #runner: AdkRunner | undefined;

  /**
   * @throws ConfigurationError for an unknown option, one of the wrong kind, and a missing runner, also in `runConfig`
   * and in the runner's options
   */
  constructor(config: AgentExecutorConfig) {
    checkOptions('A2AAgentExecutor', OPTIONS, config);
    const { runner, runConfig } = config;
    this.#runner = typeof runner === 'function' ? undefined : toRunner(runner);
    checkRunConfig(toRunConfig(runConfig) ?? {});
    this.#config = config;
  }

  /** Runs a message and publishes the task. Rejects for a message that cannot be read; a run that fails is a failed task. */
  async execute(requestContext: A2aRequestContext, eventBus: A2aEventBus): Promise<void> {
    checkExecution(requestContext, eventBus);
    const { userMessage, contextId, taskId, task } = requestContext;
    const message = readMessage('message', userMessage);
    const parts = message.parts.map((part, index) => toPart(`message.parts[${index}]`, part));
    const userContent: Content = { role: 'user', parts };
    const runner = this.#runner ?? (await openRunner(this.#config.runner));
    const { appName, sessionService } = runner;
    const key = { appName, userId: `A2A_USER_${contextId}`, sessionId: contextId };
    const session: Session = (await sessionService.getSession(key)) ?? (await sessionService.createSession(key));
    const { state: readonlyState, events } = session;
    const context: ExecutorContext = { ...key, readonlyState, events, userContent, requestContext };
    const view = new TaskView({ ...key, invocationId: taskId, taskId });
    const { beforeExecuteCallback, afterEventCallback, runConfig = {} } = this.#config;
    const { allowRemoteToolConfirmation = false, ...options } = runConfig;
    let failure: Event | undefined;
    const actions: ForwardedActions = {};
    try {
      await beforeExecuteCallback?.(requestContext);
      const open = openRequests(task, events);
      const newMessage = allowRemoteToolConfirmation ? userContent : withoutConfirmations(userContent, open);
      for (const { functionResponse } of parts) open.delete(functionResponse?.id ?? '');
      const [missing] = open.keys();
      if (missing !== undefined) {
        const reason = `No input provided for function call id ${missing}`;
        await this.#end(context, eventBus, inputRequired(requestContext, [...open.values()], reason));
        return;
      }
      if (!task)
        eventBus.publish({
          kind: 'task',
          id: taskId,
          contextId,
          history: [userMessage],
          status: { state: 'submitted', timestamp: new Date().toISOString() },
        });
      eventBus.publish(statusUpdate(view, { state: 'running' }));
      const waitingFor: string[] = [];
      const artifactIds = new ArtifactIds();
      const { userId, sessionId } = key;
      const customMetadata = { ...options.customMetadata, ...runMetadataOf(message) };
      const run = { userId, sessionId, newMessage, runConfig: { ...options, customMetadata } };
      for await (const event of runner.runAsync(run)) {
        if (event.errorCode !== undefined || event.errorMessage !== undefined) failure ??= event;
        // As in the ADK: the task waits for each long-running call of the run, also if it has a response.
        waitingFor.push(...(event.longRunningToolIds ?? []));
        actions.escalate ||= event.actions.escalate;
        actions.transferToAgent = event.actions.transferToAgent ?? actions.transferToAgent;
        const update = view.add(event, true);
        if (!update) continue;
        const metadata = { ...update.metadata, ...metadataOf(event) };
        const artifactUpdate = artifactIds.rename({ ...update, metadata }, event.partial === true);
        const a2aEvent = toLegacyUpdate({ artifactUpdate }) as A2aTaskArtifactUpdateEvent;
        await afterEventCallback?.(context, event, a2aEvent);
        eventBus.publish(a2aEvent);
      }
      const end: TaskEnd = failure
        ? { state: 'failed', ...reasonOf(failure.errorMessage ?? failure.errorCode, failure.errorCode) }
        : waitingFor.length > 0
          ? { state: 'waiting', waitingFor: [...new Set(waitingFor)] }
          : { state: 'completed' };
      await this.#end(context, eventBus, finalStatus(view, end, failure, actions));
    } catch (cause) {
      const error = toError(cause);
      const code = EventloomError.isInstance(error) ? error.code : undefined;
      const end: TaskEnd = { state: 'failed', ...reasonOf(`Agent run failed: ${error.message}`, code) };
      await this.#end(context, eventBus, finalStatus(view, end, failure, actions), error);
    }
  }

  /** Rejects: as in the ADK, a task cannot be cancelled. */
  cancelTask(_taskId: string): Promise<void> {
    return Promise.reject(
      new InvalidRequestError(
        'A2AAgentExecutor cannot cancel a task; write createServer({ runners, protocols: [a2a({ agents })] }), whose tasks can be cancelled',
      ),
    );
  }

  async #end(
    context: ExecutorContext,
    eventBus: A2aEventBus,
    update: A2aTaskStatusUpdateEvent,
    error?: Error,
  ): Promise<void> {
    try {
      await this.#config.afterExecuteCallback?.(context, update, error);
    } catch (cause) {
      getLogger().error('A2AAgentExecutor: afterExecuteCallback threw', cause);
    }
    eventBus.publish(update);
  }
}

async function openRunner(runner: RunnerOrRunnerConfig): Promise<AdkRunner> {
  return toRunner(typeof runner === 'function' ? await runner() : runner);
}

/**
 * Returns a runner, or creates one from its options.
 * @throws ConfigurationError for another value, and for options that a runner does not take
 */
function toRunner(given: AdkRunner | AdkRunnerConfig): AdkRunner {
  if (isRunner(given)) return given;
  if (!isRecord(given) || isBaseAgent(given))
    throw wrongOption('A2AAgentExecutor', 'runner', RUNNER.wanted, given, RUNNER.write);
  return new AdkRunner(given);
}

/** Checks the parameters of an execution. @throws InvalidRequestError for values that are not those of a server */
function checkExecution(requestContext: unknown, eventBus: unknown): void {
  if (!isRecord(requestContext))
    throw new InvalidRequestError(
      `A2AAgentExecutor.execute: expected a request, got ${describeKind(requestContext)}; write execute({ userMessage, taskId, contextId }, eventBus)`,
    );
  for (const name of ['taskId', 'contextId'])
    if (typeof requestContext[name] !== 'string' || requestContext[name] === '')
      throw new InvalidRequestError(
        `A2AAgentExecutor.execute: ${name}: expected an id, got ${describeKind(requestContext[name])}; write execute({ userMessage, taskId, contextId }, eventBus)`,
      );
  // The bus of `@a2a-js/sdk` is an object of a class.
  if (typeof eventBus !== 'object' || typeof (eventBus as Partial<A2aEventBus> | null)?.publish !== 'function')
    throw new InvalidRequestError(
      `A2AAgentExecutor.execute: expected an event bus, got ${describeKind(eventBus)}; write { publish(event) { … } } as its second argument`,
    );
}

/** The state of a task after its run. */
type TaskEnd = Omit<Parameters<TaskView['setState']>[0], 'invocationId'>;

function reasonOf(error: string | undefined, code: string | undefined): Pick<TaskEnd, 'error' | 'code'> {
  return { ...(error === undefined ? {} : { error }), ...(code === undefined ? {} : { code }) };
}

type ArtifactUpdate = NonNullable<ReturnType<TaskView['add']>>;

/** The ids of the artifacts of a run, one for each reply with its chunks. Replies of a task may share the id that their model gave. */
class ArtifactIds {
  /** Ids of replies of which chunks were sent, by the id of the view. */
  readonly #begun = new Map<string, string>();

  rename({ artifact, append: _append, ...update }: ArtifactUpdate, isChunk: boolean): ArtifactUpdate {
    const begun = this.#begun.get(artifact.artifactId);
    const artifactId = begun ?? crypto.randomUUID();
    if (isChunk) this.#begun.set(artifact.artifactId, artifactId);
    else this.#begun.delete(artifact.artifactId);
    return { ...update, artifact: { ...artifact, artifactId }, ...(isChunk && begun ? { append: true } : {}) };
  }
}

/** Actions of events that a client of the ADK reads. */
interface ForwardedActions {
  escalate?: boolean | undefined;
  transferToAgent?: string | undefined;
}

function metadataOf({ actions, customMetadata, longRunningToolIds, partial }: Event): object {
  return {
    ...actionMetadata(actions),
    ...(customMetadata && Object.keys(customMetadata).length > 0 ? { adk_custom_metadata: customMetadata } : {}),
    adk_partial: partial === true,
    adk_is_long_running: (longRunningToolIds?.length ?? 0) > 0,
  };
}

function actionMetadata({ escalate, transferToAgent }: ForwardedActions): object {
  return {
    ...(escalate === true ? { adk_escalate: true } : {}),
    ...(transferToAgent === undefined ? {} : { adk_transfer_to_agent: transferToAgent }),
  };
}

/** Returns the last status of a task as the ADK has it: with the session in its metadata, and calls without a text about them. */
function finalStatus(
  view: TaskView,
  end: TaskEnd,
  failure: Event | undefined,
  actions: ForwardedActions,
): A2aTaskStatusUpdateEvent {
  const { metadata, ...update } = statusUpdate(view, end);
  const { message } = update.status;
  if (message && end.state === 'waiting') message.parts = message.parts.filter(({ kind }) => kind !== 'text');
  const { appName, userId, sessionId } = view.key;
  return {
    ...update,
    metadata: {
      adk_app_name: appName,
      adk_user_id: userId,
      adk_session_id: sessionId,
      ...(failure && { adk_invocation_id: failure.invocationId, adk_author: failure.author, ...metadataOf(failure) }),
      ...actionMetadata(actions),
      ...metadata,
    },
  };
}

function statusUpdate(view: TaskView, state: TaskEnd): A2aTaskStatusUpdateEvent {
  const statusUpdate = view.setState({ invocationId: view.invocationId, ...state });
  const { timestamp = new Date().toISOString(), ...status } = statusUpdate.status;
  return toLegacyUpdate({
    statusUpdate: { ...statusUpdate, status: { ...status, timestamp } },
  }) as A2aTaskStatusUpdateEvent;
}

/** Returns the calls that the task or the session waits for, by their ids. */
function openRequests(task: A2aTask | undefined, events: readonly Event[]): Map<string, Part> {
  const open = new Map<string, Part>();
  const status = task?.status;
  if (status?.state === 'input-required' && status.message)
    for (const [index, each] of readMessage('task.status.message', status.message).parts.entries()) {
      const part = toPart(`task.status.message.parts[${index}]`, each);
      if (part.functionCall?.id) open.set(part.functionCall.id, part);
    }
  const calls = new Calls(events);
  for (const id of open.keys()) if (calls.meantBy(id)?.responses[0]) open.delete(id);
  for (const { interruptId } of getPendingUserInputRequests(events)) {
    const functionCall = calls.meantBy(interruptId)?.call;
    if (functionCall) open.set(interruptId, { functionCall });
  }
  return open;
}

/**
 * Returns the message with a no in place of each answer to a request for a confirmation, under any name of the response: a program may not
 * confirm for a person.
 */
function withoutConfirmations(message: Content, open: ReadonlyMap<string, Part>): Content {
  const parts = (message.parts ?? []).map((part) => {
    const { id = '', name, response } = part.functionResponse ?? {};
    const answers = name === REQUEST_CONFIRMATION || open.get(id)?.functionCall?.name === REQUEST_CONFIRMATION;
    if (!part.functionResponse || !answers) return part;
    const isNo = response?.['confirmed'] === false;
    if (!isNo)
      getLogger().warn(
        `A2AAgentExecutor: an answer to the request ${id} for a confirmation counts as a no over A2A; write runConfig: { allowRemoteToolConfirmation: true } if the other side gives the answers of a person`,
      );
    return { functionResponse: { id, name: REQUEST_CONFIRMATION, response: { confirmed: false } } };
  });
  return { ...message, parts };
}

function inputRequired(
  { taskId, contextId }: A2aRequestContext,
  requests: readonly Part[],
  reason: string,
): A2aTaskStatusUpdateEvent {
  const ids = new Set(requests.map(({ functionCall }) => functionCall?.id ?? ''));
  const parts = [...toA2AParts(requests, ids), { text: reason, metadata: { validation_error: true } }];
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts, taskId, contextId } as const;
  const status = { state: 'TASK_STATE_INPUT_REQUIRED', message, timestamp: new Date().toISOString() } as const;
  return toLegacyUpdate({ statusUpdate: { taskId, contextId, status } }) as A2aTaskStatusUpdateEvent;
}
