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
import { checkOptions, type OptionRules, wrongOption } from '@eventloom/core/internal';
import type {
  A2aMessage,
  A2AStreamEventData,
  A2aTask,
  A2aTaskArtifactUpdateEvent,
  A2aTaskStatusUpdateEvent,
} from './a2a-types.ts';
import { getLogger } from './logger.ts';
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
 * Runs an agent for a server of `@a2a-js/sdk` 0.3, as programs that were written for `@google/adk` do. Tasks are in the server's task store; the protocol `a2a` of
 * `@eventloom/a2a` reads them from sessions instead, and can cancel them. Each context has a user of its own, `A2A_USER_` and the context id.
 *
 * @example
 * const executor = new A2AAgentExecutor({ runner: { agent, appName: 'weather', sessionService: new InMemorySessionService() } });
 */
export class A2AAgentExecutor {
  readonly #config: AgentExecutorConfig;

  /** @throws ConfigurationError for an unknown option, one of the wrong kind, and a missing runner */
  constructor(config: AgentExecutorConfig) {
    checkOptions('A2AAgentExecutor', OPTIONS, config);
    if (config.runner === undefined)
      throw wrongOption('A2AAgentExecutor', 'runner', RUNNER.wanted, undefined, RUNNER.write);
    this.#config = config;
  }

  /** Runs a message and publishes the task. Rejects for a message that cannot be read; a run that fails is a failed task. */
  async execute(requestContext: A2aRequestContext, eventBus: A2aEventBus): Promise<void> {
    const { userMessage, contextId, taskId, task } = requestContext;
    const message = readMessage('message', userMessage);
    const parts = message.parts.map((part, index) => toPart(`message.parts[${index}]`, part));
    const userContent: Content = { role: 'user', parts };
    const runner = await openRunner(this.#config.runner);
    const { appName, sessionService } = runner;
    const key = { appName, userId: `A2A_USER_${contextId}`, sessionId: contextId };
    const session: Session = (await sessionService.getSession(key)) ?? (await sessionService.createSession(key));
    const { state: readonlyState, events } = session;
    const context: ExecutorContext = { ...key, readonlyState, events, userContent, requestContext };
    const view = new TaskView({ ...key, invocationId: taskId, taskId });
    const { beforeExecuteCallback, afterEventCallback, runConfig = {} } = this.#config;
    const { allowRemoteToolConfirmation = false, ...options } = runConfig;
    try {
      await beforeExecuteCallback?.(requestContext);
      const open = openRequests(task, events);
      for (const { functionResponse } of parts) {
        // A program may not confirm for a person.
        if (functionResponse?.name === REQUEST_CONFIRMATION && !allowRemoteToolConfirmation) continue;
        open.delete(functionResponse?.id ?? '');
      }
      const [missing] = open.keys();
      if (missing !== undefined) {
        await this.#end(context, eventBus, inputRequired(requestContext, [...open.values()], missing));
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
      let failure: Event | undefined;
      const { userId, sessionId } = key;
      const customMetadata = { ...options.customMetadata, ...runMetadataOf(message) };
      const run = { userId, sessionId, newMessage: userContent, runConfig: { ...options, customMetadata } };
      for await (const event of runner.runAsync(run)) {
        if (event.errorCode !== undefined || event.errorMessage !== undefined) failure ??= event;
        waitingFor.push(...(event.longRunningToolIds ?? []));
        const artifactUpdate = view.add(event);
        if (!artifactUpdate) continue;
        const a2aEvent = toLegacyUpdate({ artifactUpdate }) as A2aTaskArtifactUpdateEvent;
        await afterEventCallback?.(context, event, a2aEvent);
        eventBus.publish(a2aEvent);
      }
      const end: TaskEnd = failure
        ? { state: 'failed', ...reasonOf(failure.errorMessage ?? failure.errorCode, failure.errorCode) }
        : waitingFor.length > 0
          ? { state: 'waiting', waitingFor: [...new Set(waitingFor)] }
          : { state: 'completed' };
      await this.#end(context, eventBus, statusUpdate(view, end));
    } catch (cause) {
      const failure = toError(cause);
      const code = EventloomError.isInstance(failure) ? failure.code : undefined;
      const reason = reasonOf(`Agent run failed: ${failure.message}`, code);
      await this.#end(context, eventBus, statusUpdate(view, { state: 'failed', ...reason }), failure);
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
  const given = typeof runner === 'function' ? await runner() : runner;
  return isRunner(given) ? given : new AdkRunner(given);
}

/** The state of a task after its run. */
type TaskEnd = Omit<Parameters<TaskView['setState']>[0], 'invocationId'>;

function reasonOf(error: string | undefined, code: string | undefined): Pick<TaskEnd, 'error' | 'code'> {
  return { ...(error === undefined ? {} : { error }), ...(code === undefined ? {} : { code }) };
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
  const pending = new Set(getPendingUserInputRequests(events).map(({ interruptId }) => interruptId));
  for (const { content } of events)
    for (const part of content?.parts ?? []) {
      const { id = '' } = part.functionCall ?? {};
      if (pending.has(id)) open.set(id, part);
      open.delete(part.functionResponse?.id ?? '');
    }
  return open;
}

function inputRequired(
  { taskId, contextId }: A2aRequestContext,
  requests: readonly Part[],
  missing: string,
): A2aTaskStatusUpdateEvent {
  const ids = new Set(requests.map(({ functionCall }) => functionCall?.id ?? ''));
  const parts = [
    ...toA2AParts(requests, ids),
    { text: `No input provided for function call id ${missing}`, metadata: { validation_error: true } },
  ];
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts, taskId, contextId } as const;
  const status = { state: 'TASK_STATE_INPUT_REQUIRED', message, timestamp: new Date().toISOString() } as const;
  return toLegacyUpdate({ statusUpdate: { taskId, contextId, status } }) as A2aTaskStatusUpdateEvent;
}
