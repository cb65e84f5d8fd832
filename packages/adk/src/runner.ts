import {
  AgentError,
  type BaseAgent,
  type BaseArtifactService,
  type BaseCredentialService,
  type BaseMemoryService,
  BasePlugin,
  type BaseSessionService,
  ConfigurationError,
  type Content,
  type Event,
  LlmCallLimitError,
  getFunctionResponses,
  ObjectType,
  REQUEST_CONFIRMATION,
  RunAbortedError,
  type RunLiveParams,
  StreamingMode,
  toError,
} from '@eventloom/core';
import { checkOptions, isBookkeeping, jsonOrText, type OptionRules } from '@eventloom/core/internal';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { live } from '@eventloom/live';
import { isLlmAgent } from '@eventloom/llm-agent';
import { type RunAsyncParams, Runner, type RunnerConfig, type RunStream } from '@eventloom/runner';
import type { Assignable } from './adk-types.ts';
import { type App, isApp, type ResumabilityConfig } from './app.ts';
import { checkPluginCallbacks, RunnerPlugin } from './base-plugin.ts';
import type { AdkBaseSessionService, AdkRunSessions } from './base-session-service.ts';
import { runMessages, type RunStreamParams } from './background-calls.ts';
import { requireOptions } from './check-arguments.ts';
import { describeOwnOrAdk } from './class-checks.ts';
import { isServiceError } from './service-errors.ts';
import { type AdkRunEvent, toAdkEvent } from './event-fields.ts';
import { compactionOf } from './context-compactors.ts';
import { GeminiSchemas } from './gemini-schema.ts';
import { LLMRegistry } from './llm-registry.ts';
import { AdkPluginManager } from './plugin-manager.ts';
import { type AdkRunConfig, parseConfirmation, openConfirmation, withRunConfig } from './run-config.ts';
import {
  type AdkBaseArtifactService,
  type AdkBaseCredentialService,
  type AdkBaseMemoryService,
  toRunCredentials,
} from './program-services.ts';
import { toRunSessions } from './program-sessions.ts';
import { overriddenMethod } from './session-reads.ts';
import type { RunnableNode } from './workflow/node-context.ts';
import { getPendingUserInputRequests } from './user-input-requests.ts';
import { runsNodes } from './workflow/node-tool.ts';
import { asRunnableRoot, isWorkflow } from './workflow/workflow.ts';

/**
 * Options of a run as in the ADK: those that a program can read although it did not give them, and calls of a reply
 * that run one after another.
 */
const RUN_DEFAULTS = {
  maxParallelToolCalls: 1,
  streamingMode: StreamingMode.NONE,
  maxLlmCalls: 500,
  saveInputBlobsAsArtifacts: false,
  pauseOnToolCalls: false,
} as const;

/** Options of a runner that have another form in the ADK. */
interface AdkNames {
  /** Gives the name, the agent, the plugins and the resumability, before the options of the same meaning. */
  readonly app?: App | undefined;
  /** Required without an `app`. */
  readonly appName?: string | undefined;
  /** The agent or the workflow to run; a tool or a function is put into a workflow. Required without an `app`. */
  readonly agent?: RunnableNode | undefined;
  /** Plugins of every run, called after those of the `app`. */
  readonly plugins?: BasePlugin[] | undefined;
  /** `{ isResumable: true }` is the same as `resumable: true`. */
  readonly resumabilityConfig?: ResumabilityConfig | undefined;
  /**
   * Stores the sessions: a service of Eventloom, or one of the program with the methods of the ADK, which
   * `runner.sessionService` then calls.
   */
  readonly sessionService: BaseSessionService | AdkBaseSessionService;
  /** Stores files of sessions and users. Default: none; tools that save artifacts then throw. */
  readonly artifactService?: BaseArtifactService | AdkBaseArtifactService | undefined;
  /** Stores earlier conversations for searches. Default: none; tools that search then throw. */
  readonly memoryService?: BaseMemoryService | AdkBaseMemoryService | undefined;
  /** Stores credentials of users. Default: in memory, for this runner. */
  readonly credentialService?: BaseCredentialService | AdkBaseCredentialService | undefined;
}

/**
 * Options of the `Runner` for programs that were written for `@google/adk`: those of the `Runner` of `eventloom`, and `app` and
 * `resumabilityConfig`.
 */
export interface AdkRunnerConfig extends Assignable<Omit<RunnerConfig, keyof AdkNames>>, Assignable<AdkNames> {}

/** Parameters of `runEphemeral`. */
export interface RunEphemeralParams {
  readonly userId: string;
  readonly newMessage: Content;
  readonly stateDelta?: Readonly<Record<string, unknown>> | undefined;
  readonly runConfig?: AdkRunConfig | undefined;
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
}

/** Parameters of `runAsync` for programs that were written for `@google/adk`: those of `@eventloom/runner`, with options of the ADK. */
export interface AdkRunAsyncParams extends RunAsyncParams {
  readonly runConfig?: AdkRunConfig | undefined;
}

/** Parameters of `runLive` for programs that were written for `@google/adk`: those of `@eventloom/runner`, with options of the ADK. */
export interface AdkRunLiveParams extends RunLiveParams {
  readonly runConfig?: AdkRunConfig | undefined;
}

/**
 * The `Runner` for programs that were written for `@google/adk`. It extends that of `@eventloom/runner`, and differs from the `Runner` of
 * `eventloom` in seven ways:
 *
 * - It also takes `app` and `resumabilityConfig`.
 * - `LLMRegistry` creates models that agents give by name, with keys from the environment on Node.
 * - It has `runEphemeral` and `runStream`.
 * - The calls of one reply run one after another, unless a `runConfig` has `maxParallelToolCalls`.
 * - An answer to a question runs the `SequentialAgent`, `LoopAgent`, `ParallelAgent` or agent class around the agent
 *   that asked once more, from its first agent on, unless runs are resumable.
 * - A run that is aborted ends its stream, and throws no `RunAbortedError`. An error of a model's service, and the call
 *   after the last that `maxLlmCalls` allows, end it with an error event, and are not thrown.
 * - Events always have `longRunningToolIds`, `actions.requestedAuthConfigs` and `actions.requestedToolConfirmations`,
 *   and with `StreamingMode.SSE` the whole replies of models have `partial: false`.
 *
 * @example
 * const runner = new Runner({ appName: 'weather', agent, sessionService: new InMemorySessionService() });
 */
export class AdkRunner extends Runner {
  /** The name of the class in error messages. */
  static override readonly name: string = 'Runner';
  readonly resumabilityConfig: ResumabilityConfig | undefined;
  declare readonly sessionService: AdkRunSessions;
  /** @internal */
  override readonly yieldsAllChunks = true;
  /** The plugins of the runner, also those that `registerPlugin` adds later. */
  override readonly pluginManager: AdkPluginManager;
  // No private members: libraries that trace programs call methods on a `Proxy` of the runner.
  /**
   * True if runs are resumable only because nodes may ask: bookkeeping events are then hidden from their reader.
   * @internal
   */
  readonly hidesBookkeeping: boolean;
  /**
   * True if runs can be resumed, so that an answer continues the run that asked.
   * @internal
   */
  readonly isResumable: boolean;
  /**
   * True if a text may answer a question of a node.
   * @internal
   */
  readonly takesTextAnswers: boolean;

  /** @throws ConfigurationError for a missing or invalid option, and for one that does not exist */
  constructor(options: AdkRunnerConfig) {
    requireOptions('Runner', options, 'new Runner({ appName, agent, sessionService })');
    const { app, appName, agent, plugins, resumabilityConfig, artifactService, memoryService, ...config } = options;
    if (app !== undefined && !isApp(app))
      throw new ConfigurationError(
        `Runner: app: expected an App, got ${describeOwnOrAdk(app)}; write app: new App({ name, rootAgent })`,
      );
    const given = app?.rootAgent ?? agent;
    if (!given)
      throw new ConfigurationError(
        'Runner: agent is missing; write agent: new LlmAgent({ … }), or app: new App({ … })',
      );
    const root = asRunnableRoot(given);
    const resumability = app?.resumabilityConfig ?? resumabilityConfig;
    const resumable = config.resumable ?? resumability?.isResumable;
    const hasNodes = runsNodes(root);
    checkPluginCallbacks('Runner: app', app?.plugins ?? []);
    checkPluginCallbacks('Runner', plugins ?? []);
    const allPlugins = [new GeminiSchemas(), new AfterSilentErrors(), ...(app?.plugins ?? []), ...(plugins ?? [])];
    super({
      ...config,
      appName: app?.name ?? appName ?? '',
      agent: root,
      plugins: allPlugins,
      sessionService: toRunSessions(config.sessionService, config.platform),
      credentialService: toRunCredentials(config.credentialService ?? new InMemoryCredentialService(), config.platform),
      // Runs call only the methods that the ADK has too.
      artifactService: artifactService as BaseArtifactService | undefined,
      memoryService: memoryService as BaseMemoryService | undefined,
      // Nodes can wait for people only in runs that can be resumed.
      resumable: resumable ?? (hasNodes || undefined),
      eventsCompaction: config.eventsCompaction ?? compactionOf(root),
      runConfig: { ...RUN_DEFAULTS, ...config.runConfig },
      models: config.models ?? LLMRegistry.resolver(),
      live: config.live ?? live(),
    });
    this.resumabilityConfig = resumability;
    this.pluginManager = new AdkPluginManager(allPlugins);
    this.isResumable = resumable ?? hasNodes;
    this.hidesBookkeeping = resumable !== true && hasNodes;
    this.takesTextAnswers = hasNodes;
  }

  get '~eventloom.adk-runner'(): true {
    return true;
  }

  /**
   * Runs the agent as `runAsync` of `@eventloom/runner` does, with the ADK's ends: an aborted run and an error of a
   * model's service end the stream without throwing, and the error of an agent is thrown as it is. A message of texts
   * answers the only open question that a node asked in the last run; with `plainTextToolConfirmation` a yes or a no
   * answers a confirmation.
   */
  override runAsync(params: AdkRunAsyncParams): AdkRunStream {
    checkSessions(this.sessionService);
    const confirms = params?.runConfig?.plainTextToolConfirmation === true;
    const mayAnswer = (this.takesTextAnswers || confirms) && params?.invocationId === undefined;
    const text = mayAnswer ? textOf(params?.newMessage) : undefined;
    if (text === undefined) return withAdkEnds(super.runAsync(withRunConfig(params)), params, this.hidesBookkeeping);
    // The run reads its parameters when it begins.
    const runParams: { newMessage?: AdkRunAsyncParams['newMessage'] } & AdkRunAsyncParams = withRunConfig({
      ...params,
    });
    const stream = super.runAsync(runParams);
    // The text may become an answer when the run begins.
    stream.startKind = 'answers';
    return withAdkEnds(stream, params, this.hidesBookkeeping, async () => {
      const sent = await readSentMessage(this, params, runParams.requestId ?? runParams.runConfig?.requestId);
      const events = sent ? [] : await readRecentEvents(this, params);
      const answer = sent
        ? toSentAnswer(sent, text)
        : (confirms && toConfirmation(events, text)) || (this.takesTextAnswers && toAnswer(this.agent, events, text));
      if (answer) runParams.newMessage = answer;
    });
  }

  /**
   * Returns the outermost agent around the one that asked which is no LLM agent, up to the next LLM agent: the ADK runs
   * it once more with the answer.
   * @internal
   */
  override agentForAnswers(asking: BaseAgent): BaseAgent {
    if (this.isResumable) return asking;
    let agent = asking;
    while (agent !== this.agent && agent.parentAgent && !isLlmAgent(agent.parentAgent)) agent = agent.parentAgent;
    return agent;
  }

  /** Runs the agent live, as `runLive` of `@eventloom/runner` does. The error of an agent or of its connection is thrown as it is. */
  override runLive(params: AdkRunLiveParams): AdkRunStream {
    checkSessions(this.sessionService);
    const stream = super.runLive(withRunConfig(params));
    const next = stream.next.bind(stream);
    stream.next = async () => {
      try {
        return withAdkFields(await next(), false);
      } catch (error) {
        stream.failure = toError(error);
        throw AgentError.isInstance(error) ? error.cause : error;
      }
    };
    return stream as AdkRunStream;
  }

  /**
   * Runs the agent in a new session, and deletes the session afterwards. An error of the parameters is thrown with the first event.
   * @throws ConfigurationError for a parameter that does not exist
   */
  async *runEphemeral(given: RunEphemeralParams): AsyncGenerator<AdkRunEvent, void, undefined> {
    checkOptions('runEphemeral', EPHEMERAL_PARAMS, given, {}, 'runEphemeral({ userId, newMessage })');
    const { userId, ...params } = given;
    const { appName } = this;
    const { id: sessionId } = await this.sessionService.createSession({ appName, userId });
    try {
      yield* this.runAsync({ ...params, userId, sessionId });
    } finally {
      await this.sessionService.deleteSession({ appName, userId, sessionId });
    }
  }

  /**
   * Runs the agent for each message of `inputStream`, and again when a `BackgroundTool` has its result. Yields the
   * messages of the user, the events of the runs, and the questions of background tools. Ends when the messages have
   * ended and no background tool works.
   * @throws ConfigurationError if another stream runs the session
   */
  runStream(params: RunStreamParams): AsyncGenerator<Event, void, undefined> {
    return runMessages(this, params);
  }
}

/** @throws ConfigurationError for a service whose methods the program replaced after the runner was created: runs would not call them */
function checkSessions(service: BaseSessionService): void {
  const method = overriddenMethod(service);
  if (method)
    throw new ConfigurationError(
      `Runner: sessionService.${method} was assigned after the runner was created; write new Runner({ …, sessionService }) with a service that has it already`,
    );
}

/** The events of one run, with the fields that programs of the ADK read. */
type AdkRunStream = Omit<RunStream, keyof AsyncGenerator> & AsyncGenerator<AdkRunEvent, void, undefined>;

/** Returns true for a runner of this package, including one of another loaded copy of it. */
export function isRunner(value: unknown): value is AdkRunner {
  return typeof value === 'object' && value !== null && '~eventloom.adk-runner' in value;
}

type OfFailedRun = Parameters<BasePlugin['onRunErrorCallback']>[0];

const EPHEMERAL_PARAMS: OptionRules<RunEphemeralParams> = {
  userId: { is: 'text', write: "'ann'" },
  // `runAsync` checks the message, and throws an InvalidMessageError.
  newMessage: 'any',
  stateDelta: 'object',
  runConfig: 'object',
  customMetadata: 'object',
};

/** The number of the newest events of a session among which a question is looked for, besides those of the last run. */
const RECENT_EVENTS = 200;

/** Returns the text of a message that consists of texts. */
function textOf(message: Content | string | undefined): string | undefined {
  if (typeof message === 'string') return message;
  const texts = message?.parts?.map(({ text }) => text) ?? [];
  return texts.length > 0 && texts.every((text) => text !== undefined) ? texts.join('') : undefined;
}

async function readRecentEvents(
  { appName, sessionService }: Runner,
  { userId, sessionId }: RunAsyncParams,
): Promise<readonly Event[]> {
  const key = { appName, userId, sessionId };
  const recent =
    (await sessionService.getSession({ ...key, config: { numRecentEvents: RECENT_EVENTS } }))?.events ?? [];
  const last = recent.at(-1);
  if (!last || recent.length < RECENT_EVENTS) return recent;
  const run = await sessionService.findRun({ ...key, id: last.invocationId });
  const session = run && (await sessionService.getSession({ ...key, config: { afterSeq: run.firstSeq - 1 } }));
  return session && session.events.length > recent.length ? session.events : recent;
}

/** Reads the stored message of a request that was sent before; undefined for a new one. */
async function readSentMessage(
  { appName, sessionService }: Runner,
  { userId, sessionId }: RunAsyncParams,
  requestId: string | undefined,
): Promise<Event | undefined> {
  if (requestId === undefined) return undefined;
  const key = { appName, userId, sessionId };
  const run = await sessionService.findRun({ ...key, id: requestId });
  if (!run) return undefined;
  const session = await sessionService.getSession({ ...key, config: { afterSeq: run.firstSeq - 1 } });
  return session?.events.find((event) => event.author === 'user' && event.requestId === requestId);
}

/** Returns a text that is sent again as the answer as which it was stored; undefined if it was stored as a text. */
function toSentAnswer(sent: Event, text: string): Content | undefined {
  const [answer] = getFunctionResponses(sent);
  if (!answer) return undefined;
  const { id = '', name = '', response: { result } = {} } = answer;
  const response =
    name === REQUEST_CONFIRMATION
      ? { ...parseConfirmation(text) }
      : { result: result === JSON.stringify(text) ? result : text };
  return { role: 'user', parts: [{ functionResponse: { id, name, response } }] };
}

/** Returns a yes or a no as the response to the newest open confirmation; undefined for other texts, and if there is none. */
function toConfirmation(events: readonly Event[], text: string): Content | undefined {
  const response = parseConfirmation(text);
  const id = response && openConfirmation(events);
  if (id === undefined) return undefined;
  return { role: 'user', parts: [{ functionResponse: { id, name: REQUEST_CONFIRMATION, response: { ...response } } }] };
}

/**
 * Returns the text as the response to the only open question of the last run, or, if the root is a workflow, of its
 * last run; undefined if nodes have asked none, or several, and for a run that has ended.
 */
function toAnswer(root: BaseAgent, recent: readonly Event[], text: string): Content | undefined {
  const isLast = ({ nodeInfo }: Event): boolean => !isWorkflow(root) || nodeInfo?.path?.split('.')[0] === root.name;
  const last = recent.findLast(isLast)?.invocationId;
  const ofRun = recent.filter(({ invocationId }) => invocationId === last);
  if (ofRun.some(({ object }) => object === ObjectType.runnerEnd)) return undefined;
  const events = ofRun.filter(({ author, nodeInfo }) => author === 'user' || nodeInfo !== undefined);
  const [question, ...others] = getPendingUserInputRequests(events);
  // Nodes that ask with one id get one answer.
  if (question?.kind !== 'input' || others.some(({ interruptId }) => interruptId !== question.interruptId))
    return undefined;
  const { interruptId: id, functionCallName: name, responseSchema } = question;
  // Without a schema an answer is read as JSON, but a text stays a text.
  const result = responseSchema === undefined && jsonOrText(text) !== text ? JSON.stringify(text) : text;
  return { role: 'user', parts: [{ functionResponse: { id, name, response: { result } } }] };
}

/** True for an error that ends a stream with its event, and is not thrown. */
function isOnlyEvent(error: unknown): boolean {
  return isServiceError(error) || LlmCallLimitError.isInstance(error);
}

/**
 * Calls `afterRunCallback` of the plugins after a run that was aborted or whose error is only an event, as the ADK does. Plugins with an
 * `onRunErrorCallback`, which the ADK does not have, get that call instead.
 */
class AfterSilentErrors extends RunnerPlugin {
  constructor() {
    super('eventloom-after-silent-errors');
  }

  override async onRunErrorCallback({ invocationContext, error }: OfFailedRun): Promise<void> {
    if (!isOnlyEvent(error) && !RunAbortedError.isInstance(error)) return;
    for (const plugin of invocationContext.plugins.plugins)
      if (plugin.onRunErrorCallback === BasePlugin.prototype.onRunErrorCallback)
        await plugin.afterRunCallback({ invocationContext });
  }
}

/** @param prepare Awaited before the run begins. Default: nothing. */
function withAdkEnds(
  stream: RunStream,
  params: AdkRunAsyncParams | undefined,
  hidesBookkeeping: boolean,
  prepare?: () => Promise<void>,
): AdkRunStream {
  const isStreamed = params?.runConfig?.streamingMode === StreamingMode.SSE;
  const next = stream.next.bind(stream);
  let preparing = prepare;
  stream.next = async () => {
    try {
      await preparing?.();
      preparing = undefined;
      for (;;) {
        const step = await next();
        if (step.done || !hidesBookkeeping || !isBookkeeping(step.value)) return withAdkFields(step, isStreamed);
      }
    } catch (error) {
      stream.failure = toError(error);
      const isAborted = params?.abortSignal?.aborted && RunAbortedError.isInstance(error);
      if (isAborted || isOnlyEvent(error)) return { done: true, value: undefined };
      throw AgentError.isInstance(error) ? error.cause : error;
    }
  };
  const retry = stream.retry.bind(stream);
  stream.retry = () => withAdkEnds(retry(), params, hidesBookkeeping, prepare);
  return stream as AdkRunStream;
}

/** @param isStreamed true in a run whose readers get chunks */
function withAdkFields(step: IteratorResult<Event, void>, isStreamed: boolean): IteratorResult<AdkRunEvent, void> {
  return step.done ? step : { done: false, value: toAdkEvent(step.value, isStreamed) };
}
