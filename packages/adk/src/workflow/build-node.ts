import {
  type AuthConfig,
  type AuthCredential,
  BaseAgent,
  ConfigurationError,
  type Content,
  contentText,
  createEvent,
  type Event,
  getStructuredOutput,
  type InvocationContext,
  type JsonValue,
  OutputSchemaError,
  REQUEST_CREDENTIAL,
} from '@eventloom/core';
import {
  Calls,
  checkOptions,
  describeKind,
  isBaseAgent,
  isBaseTool,
  isBookkeeping,
  jsonOrText,
  type OptionRules,
  sealJson,
  wrongOption,
} from '@eventloom/core/internal';
import { isLlmAgent, type LlmAgent } from '@eventloom/llm-agent';
import { toModelContent } from '@eventloom/llm-agent/internal';
import { copyWithOutputSchema, nodeOptionsOf } from '../agent-options.ts';
import { AuthHandler } from '../auth.ts';
import { asksForKey, SignInCredentials } from '../sign-in-credentials.ts';
import { NodeInterruptedError } from '../errors.ts';
import { OpenCallTool } from '../open-call-tool.ts';
import {
  BaseNode,
  type BaseNodeConfig,
  describeNodeOrKind,
  isBaseNode,
  isContent,
  NODE_OPTIONS,
  type NodeEventResult,
  START,
} from './base-node.ts';
import { scopeInstructions } from './instruction-scope.ts';
import { type AdkNodeContext, type NodePlace, type RunnableNode, withNode } from './node-context.ts';
import { prepareRetryConfig } from './retry.ts';
import { ToolNode } from './tool-node.ts';

/** Anything that an edge connects. */
export type NodeLike = RunnableNode | 'START';

/** Options of `node`, for programs that were written for `@google/adk`. They replace those of the value. */
export interface AdkNodeOptions extends Partial<Omit<BaseNodeConfig, 'waitForOutput'>> {
  /** The credential that a function needs. If the user gave none, the node asks for it and waits. Refused for other nodes than those of functions. */
  authConfig?: AuthConfig | undefined;
  /** True runs the node once for each item of its input, which is a list, and makes a list of the outputs. Default false. */
  parallelWorker?: boolean | undefined;
  /** Maximum number of runs of a parallel worker at the same time. Default 8. */
  maxParallelWorkers?: number | undefined;
}

const { waitForOutput: _, ...OWN_OPTIONS } = NODE_OPTIONS;
const OPTIONS: OptionRules<AdkNodeOptions> = {
  ...OWN_OPTIONS,
  authConfig: 'object',
  parallelWorker: 'flag',
  // `ParallelWorker` checks it.
  maxParallelWorkers: 'any',
};
const FUNCTION_OPTIONS: OptionRules<FunctionNodeConfig & BaseNodeConfig> = { ...NODE_OPTIONS, authConfig: 'object' };

/** Result of the function of a node: an output, an event, or nothing. */
export type FunctionNodeResult<TOutput> = TOutput | Event | null | undefined | void;

/** The function of a node. */
export type FunctionNodeHandler<TInput = unknown, TOutput = unknown> = (
  context: AdkNodeContext,
  input: TInput,
) =>
  | FunctionNodeResult<TOutput>
  | Promise<FunctionNodeResult<TOutput>>
  | Generator<FunctionNodeResult<TOutput>, void, unknown>
  | AsyncGenerator<FunctionNodeResult<TOutput>, void, unknown>;

/** Options of a function node. */
export interface FunctionNodeConfig extends Partial<Omit<BaseNodeConfig, 'name'>> {
  authConfig?: AuthConfig | undefined;
}

/**
 * A node that calls a function. The value that the function returns, or yields last, is the output. A `Content` is shown and is not the output; an
 * event may have both, and a `route`.
 *
 * @example
 * const shout = new FunctionNode<string, string>('shout', (_context, text) => text.toUpperCase());
 */
export class FunctionNode<TInput = unknown, TOutput = unknown> extends BaseNode<TInput, TOutput> {
  readonly authConfig: AuthConfig | undefined;
  readonly #handler: FunctionNodeHandler<TInput, TOutput>;
  readonly #config: FunctionNodeConfig;

  /** @throws ConfigurationError for a name that is not text, and a value that is not a function */
  constructor(name: string, handler: FunctionNodeHandler<TInput, TOutput>, config: FunctionNodeConfig = {}) {
    if (typeof name !== 'string')
      throw new ConfigurationError(
        `FunctionNode: name: expected a string, got ${describeKind(name)}; write new FunctionNode('work', (context, input) => …)`,
      );
    if (typeof handler !== 'function')
      throw new ConfigurationError(
        `FunctionNode "${name}": expected a function, got ${describeNodeOrKind(handler)}; write new FunctionNode('${name}', (context, input) => …)`,
      );
    if (new.target === FunctionNode) checkOptions(`FunctionNode "${name}"`, FUNCTION_OPTIONS, config);
    // The answer to a request for a credential is no output.
    super({ ...config, name, rerunOnResume: config.rerunOnResume ?? config.authConfig !== undefined });
    this.authConfig = config.authConfig;
    this.#handler = handler;
    this.#config = config;
  }

  /** Creates a node with the same function, and with some options changed. @internal */
  copy({ name = this.name, ...options }: AdkNodeOptions): FunctionNode<TInput, TOutput> {
    const changes = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    return new FunctionNode(name, this.#handler, { ...this.#config, ...changes });
  }

  protected override async *runImpl(context: AdkNodeContext, input: TInput): AsyncGenerator<unknown, void, void> {
    const request = this.authConfig && (await askForCredential(this.authConfig, context));
    if (request) {
      yield request;
      return;
    }
    const result: unknown = this.#handler(context, input);
    if (isIterator(result)) yield* result;
    else yield await result;
  }

  protected override toEvent(context: AdkNodeContext, item: unknown): NodeEventResult {
    return isContent(item) ? createEvent({ content: item }) : super.toEvent(context, item);
  }
}

function isIterator(value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return Symbol.asyncIterator in value || (Symbol.iterator in value && 'next' in value);
}

/** Returns the event that asks the user for a credential; undefined once the state of the invocation has the credential. */
async function askForCredential(authConfig: AuthConfig, context: AdkNodeContext): Promise<Event | undefined> {
  const handler = new AuthHandler(authConfig);
  if (handler.getAuthResponse(context.state)) return undefined;
  const { invocation, appName, userId } = context.invocationContext;
  const { credentialService } = invocation;
  const { credentialKey } = authConfig;
  if (!credentialService)
    throw new ConfigurationError(
      'node with authConfig: the runner has no credentialService; write credentialService: new InMemoryCredentialService() in its options',
    );
  const given = await credentialService.loadCredential({ appName, userId, credentialKey });
  if (given) {
    const exchangedAuthCredential = withClient(authConfig, given);
    await new AuthHandler({ ...authConfig, exchangedAuthCredential }).parseAndStoreAuthResponse(context.state);
    return undefined;
  }
  const described = credentialService.describe(handler.generateAuthRequest(), { appName, userId });
  if (credentialService instanceof SignInCredentials)
    await credentialService.requestKept({ appName, userId, credentialKey });
  const args = { functionCallId: credentialKey, authConfig: described, message: credentialMessage(authConfig) };
  const functionCall = { name: REQUEST_CREDENTIAL, id: credentialKey, args };
  return createEvent({ content: { role: 'model', parts: [{ functionCall }] }, longRunningToolIds: [credentialKey] });
}

/** Returns the user's credential with the OAuth client of the program, whose secret the user never got. */
function withClient({ rawAuthCredential: raw }: AuthConfig, given: AuthCredential): AuthCredential {
  if (!raw?.oauth2 || !given.oauth2) return given;
  const { clientId, clientSecret, redirectUri } = raw.oauth2;
  const client = {
    ...(clientId && { clientId }),
    ...(clientSecret && { clientSecret }),
    ...(redirectUri && { redirectUri }),
  };
  return { ...given, oauth2: { ...given.oauth2, ...client } };
}

function credentialMessage(authConfig: AuthConfig): string {
  return `Please provide your ${asksForKey(authConfig) ? 'API key' : 'authentication credentials'}.`;
}

/** A node that waits for all nodes with an edge to it. Its output is an object of their outputs by node name. */
export class JoinNode extends BaseNode {
  /** @throws ConfigurationError for an invalid option, and for one that does not exist */
  constructor(config: BaseNodeConfig) {
    checkOptions('JoinNode', NODE_OPTIONS, config, {}, "new JoinNode({ name: 'join' })");
    super(config);
  }

  override get requiresAllPredecessors(): boolean {
    return true;
  }

  protected override async *runImpl(_context: AdkNodeContext, input: unknown): AsyncGenerator<unknown, void, void> {
    yield createEvent({ output: input });
  }
}

/** A node that runs an agent, with the options of a node that the agent has itself. */
export class AgentNode extends BaseNode {
  readonly agent: BaseAgent;

  /** @throws ConfigurationError for an `outputSchema` of an LLM agent that cannot be copied */
  constructor(agent: BaseAgent, config: Partial<BaseNodeConfig> = {}) {
    super({
      name: agent.name,
      description: agent.description,
      rerunOnResume: true,
      waitForOutput: isLlmAgent(agent) && agent.mode === 'task',
      inputSchema: isLlmAgent(agent) ? agent.inputSchema : undefined,
      ...nodeOptionsOf(agent),
      ...Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined)),
    });
    const { outputSchema } = config;
    this.agent =
      isLlmAgent(agent) && outputSchema !== undefined && outputSchema !== agent.outputSchema
        ? copyWithOutputSchema(agent, outputSchema)
        : agent;
  }

  override get calledAgents(): readonly BaseAgent[] {
    return [this.agent];
  }

  /** Returns the output of an LLM agent as it is, because the agent has parsed it with its schema. */
  protected override checkOutput(output: unknown): Promise<unknown> {
    return isLlmAgent(this.agent) ? Promise.resolve(output) : super.checkOutput(output);
  }

  protected override async *runImpl(context: AdkNodeContext, input: unknown): AsyncGenerator<unknown, void, void> {
    const { agent } = this;
    const { invocationContext, place, guard } = context;
    if (!isLlmAgent(agent)) {
      const own = invocationContext.withInvocation({ ...invocationContext.invocation, rootAgent: agent });
      yield* own.runAgent(agent, { ...branchOf(context), abort: guard });
      return;
    }
    const turn = new NodeTurn(agent, input, context);
    const callId = context.attemptId;
    if (!isIsolated(agent)) {
      if (isUnread(input, agent, place)) {
        const reader = new InputReader({ name: agent.name });
        const nodeInfo = { path: place.nodePath };
        const said = { agent: reader, userContent: toMessage(input), nodeInfo, callId, streaming: false, abort: guard };
        for await (const _event of invocationContext.runSubInvocation({ ...said, branch: place.branch }));
      }
      yield* invocationContext.runAgent(turn, { ...branchOf(context), abort: guard });
      if (!turn.isPaused) context.interruptIds = [];
      return;
    }
    const open = new Set<string>();
    const note = ({ longRunningToolIds = [] }: Event): void => longRunningToolIds.forEach((id) => open.add(id));
    const events = invocationContext.runSubInvocation({
      agent: turn,
      userContent: isEmpty(input) ? toContext(place) : toMessage(input),
      callId,
      streaming: true,
      abort: guard,
      onRecorded: note,
      onPause: () => (turn.isPaused = true),
    });
    for await (const event of events) {
      note(event);
      // Bookkeeping events are stored, but are not output of the node.
      if (!isBookkeeping(event)) yield event;
    }
    if (open.size > 0 && !invocationContext.isResumable)
      throw new ConfigurationError(
        `agent "${agent.name}" in a workflow waits for an answer: write resumable: true in the options of the runner`,
      );
    if (!turn.isPaused) {
      // Calls of tools that run other work have their results.
      context.interruptIds = [];
      return;
    }
    context.interruptIds.push(...[...open].filter((id) => !(id in context.resumeInputs)));
    throw new NodeInterruptedError(`agent "${agent.name}" waits for an answer`);
  }

  override close(): Promise<void> | void {
    return this.agent.close();
  }
}

/** Returns true for an agent that a node runs in a sub-invocation, which sees its own events only. */
function isIsolated(agent: BaseAgent): boolean {
  return isLlmAgent(agent) && agent.mode !== 'task' && !seesConversation(agent);
}

/** Returns true for an agent with an option to see the whole conversation, which the agents of a workflow otherwise do not. */
function seesConversation(agent: LlmAgent): boolean {
  return 'seesConversation' in agent && agent.seesConversation === true;
}

/**
 * Returns true for the input of an agent that sees the conversation, if the input is neither the user's message nor the last text of a node in a scope that the
 * agent sees.
 */
function isUnread(input: unknown, { mode }: LlmAgent, { runs, invocationContext, isolationScope }: NodePlace): boolean {
  if (mode === 'task' || isEmpty(input) || input === null) return false;
  const { content, isolationScope: saidIn } = runs.stream.lastSaid ?? {};
  const isSeen = saidIn === undefined || saidIn === isolationScope;
  const text = contentText(toMessage(input));
  return text !== contentText(invocationContext.userContent) && !(isSeen && text === contentText(content));
}

function branchOf({ place }: AdkNodeContext): { branch?: string; isolationScope?: string } {
  return {
    ...(place.branch === undefined ? {} : { branch: place.branch }),
    ...(place.isolationScope === undefined ? {} : { isolationScope: place.isolationScope }),
  };
}

/** Returns true for the input after a node that had no output, or whose agent answered without a text, for example with an image. */
function isEmpty(input: unknown): boolean {
  return input === undefined || input === '';
}

function toMessage(input: unknown): Content {
  if (isContent(input)) return { ...input, role: 'user' };
  return { role: 'user', parts: [{ text: typeof input === 'string' ? input : JSON.stringify(input ?? null) }] };
}

/** The message to an agent whose node has an empty input: what a node said last, or the message of the user. */
function toContext({ runs, invocationContext }: NodePlace): Content {
  const { lastSaid } = runs.stream;
  return (lastSaid && toModelContent(lastSaid, '')) ?? invocationContext.userContent ?? toMessage(null);
}

/** Runs nothing: the sub-invocation that runs it only stores its message. */
class InputReader extends BaseAgent {
  /** Calls no callbacks. */
  override runIn(): AsyncGenerator<Event, void, void> {
    return this.runAsyncImpl();
  }

  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
    yield* [];
  }
}

/** Runs an agent for a node: its last answer is the output of the node. */
class NodeTurn extends BaseAgent {
  readonly #agent: LlmAgent;
  readonly #input: unknown;
  readonly #node: AdkNodeContext;
  /** True once the agent waits for a person. */
  isPaused = false;

  constructor(agent: LlmAgent, input: unknown, node: AdkNodeContext) {
    super({ name: agent.name });
    this.#agent = agent;
    this.#input = input;
    this.#node = node;
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { place } = this.#node;
    const own = context.withInvocation({ ...context.invocation, rootAgent: this.#agent });
    scopeInstructions(own.invocation, { input: this.#input, outputs: place.outputs });
    for await (const event of own.runAgent(this.#agent)) {
      if (context.progress.isCommitted(event)) yield event;
      else if (event.partial === true) yield withNode(place, event);
      else {
        this.#node.checkState(event.actions);
        // A task of the agent has its result in the response of its call.
        const isOfTask = event.isolationScope !== context.isolationScope;
        if (isOfTask) yield withNode(place, event);
        else if (!this.#waits(context)) yield withNode(place, withOutput(this.#agent, event));
        else if (!isEnd(event)) yield withNode(place, event);
      }
    }
    if (!this.#waits(context)) return;
    this.isPaused = true;
    context.pause();
  }

  /** True while the user has not answered a call of the agent. The node is then not done, whatever the model said meanwhile. */
  #waits({ invocationId, session, invocation }: InvocationContext): boolean {
    if (this.#agent.mode === 'task') return false;
    const withResult = new Set(this.#agent.tools.flatMap((tool) => (tool instanceof OpenCallTool ? tool.name : [])));
    return Calls.of(session, invocation.derived).all.some(
      ({ call, isLongRunning, responses, event: { nodeInfo, invocationId: madeIn } }) =>
        isLongRunning &&
        madeIn === invocationId &&
        nodeInfo?.path === this.#node.nodePath &&
        !responses.some(({ event: { author } }) => author === 'user' || withResult.has(call.name ?? '')),
    );
  }
}

/** Returns true for an event that only marks the end of an agent. */
function isEnd({ actions, content }: Event): boolean {
  return actions.endOfAgent === true && !content;
}

/** Returns the whole event with the agent's answer as the output of its node, unless the answer was refused. The result of a task is an output already. */
function withOutput({ mode, outputSchema }: LlmAgent, event: Event): Event {
  const { content, output, errorCode } = event;
  if (mode === 'task' || output !== undefined || errorCode === OutputSchemaError.code) return event;
  if (content?.role !== 'model' || content.parts?.some(({ functionCall }) => functionCall)) return event;
  const text = contentText(content);
  const value = outputSchema !== undefined && text.trim() !== '' ? parsedOutputOf(event, text) : text;
  return { ...event, output: value, nodeInfo: { ...event.nodeInfo, messageAsOutput: true } };
}

/** Returns the answer as the agent parsed it with its schema, in JSON. An answer that the agent did not parse is read from its text. */
function parsedOutputOf(event: Event, text: string): JsonValue | undefined {
  const parsed = getStructuredOutput(event);
  const sealed = sealJson(parsed === undefined ? jsonOrText(text) : parsed);
  return 'value' in sealed ? sealed.value : text;
}

/** Options of a parallel worker. */
export interface ParallelWorkerConfig {
  /** Maximum number of runs at the same time. Default 8. */
  maxParallelWorkers?: number | undefined;
}

/** A node that runs another one once for each item of its input. Its output is the list of the outputs, in the order of the items. */
export class ParallelWorker extends BaseNode {
  readonly inner: BaseNode;
  readonly maxParallelWorkers: number | undefined;

  /** @throws ConfigurationError for a number below 1 */
  constructor(inner: NodeLike, config: ParallelWorkerConfig = {}) {
    const node = buildNode(inner);
    checkOptions(`ParallelWorker "${node.name}"`, { maxParallelWorkers: 'number' }, config);
    const { maxParallelWorkers } = config;
    super({ name: node.name, rerunOnResume: true });
    if (maxParallelWorkers !== undefined && !(maxParallelWorkers >= 1))
      throw wrongOption(
        `ParallelWorker "${this.name}"`,
        'maxParallelWorkers',
        'an integer of at least 1',
        maxParallelWorkers,
        '4',
      );
    this.inner = node;
    this.maxParallelWorkers = maxParallelWorkers;
  }

  override get calledAgents(): readonly BaseAgent[] {
    return [this.inner];
  }

  protected override async *runImpl(context: AdkNodeContext, input: unknown): AsyncGenerator<unknown, void, void> {
    const items: readonly unknown[] = Array.isArray(input) ? input : [input];
    const outputs: unknown[] = [];
    let next = 0;
    const failures: unknown[] = [];
    const work = async (): Promise<void> => {
      while (next < items.length && failures.length === 0) {
        const at = next++;
        try {
          const { output } = await context.runNode(this.inner, items[at], { useSubBranch: true, runId: `${at}` });
          outputs[at] = output;
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.maxParallelWorkers ?? 8, items.length) }, work));
    // If one run failed and another one waits, the error wins.
    if (failures.length > 0) throw failures.find((error) => !NodeInterruptedError.isInstance(error)) ?? failures[0];
    yield outputs;
  }
}

/** Base of nodes with an own `runNodeImpl`. */
export abstract class WorkflowNode<TInput = unknown, TOutput = unknown> extends BaseNode<TInput, TOutput> {
  /** Does the work of the node, as `runImpl` of `BaseNode` does. */
  protected abstract runNodeImpl(context: AdkNodeContext, input: TInput): AsyncGenerator<unknown, void, void>;

  protected override runImpl(context: AdkNodeContext, input: TInput): AsyncGenerator<unknown, void, void> {
    return this.runNodeImpl(context, input);
  }
}

/** A node that runs another node under its own name and options. */
class RenamedNode extends BaseNode {
  readonly inner: BaseNode;

  constructor(inner: BaseNode, options: AdkNodeOptions) {
    super({
      name: options.name ?? inner.name,
      description: options.description ?? inner.description,
      rerunOnResume: options.rerunOnResume ?? inner.rerunOnResume,
      waitForOutput: inner.waitForOutput,
      retryConfig: options.retryConfig ?? inner.retryConfig,
      timeout: options.timeout ?? inner.timeout,
      inputSchema: options.inputSchema ?? inner.inputSchema,
      outputSchema: options.outputSchema ?? inner.outputSchema,
      stateSchema: options.stateSchema ?? inner.stateSchema,
      isolationScope: options.isolationScope ?? inner.isolationScope,
    });
    this.inner = inner;
  }

  override get calledAgents(): readonly BaseAgent[] {
    return [this.inner];
  }

  override get requiresAllPredecessors(): boolean {
    return this.inner.requiresAllPredecessors;
  }

  protected override runImpl(context: AdkNodeContext, input: unknown): AsyncGenerator<unknown, void, void> {
    return this.inner.run(context, input);
  }

  /** Names this node as the author of the events of the inner one. Those of an agent keep the name of the agent. */
  protected override async toEvent(context: AdkNodeContext, item: unknown): Promise<Event | null | undefined> {
    const event = await super.toEvent(context, item);
    if (event?.author !== this.inner.name || this.inner instanceof AgentNode) return event;
    return context.invocationContext.progress.isCommitted(event) ? event : { ...event, author: this.name };
  }
}

/** Returns true for a value that an edge can connect. */
export function isNodeLike(value: unknown): value is NodeLike {
  return value === 'START' || typeof value === 'function' || isBaseAgent(value) || isBaseTool(value);
}

/** Makes a node of a value. @throws ConfigurationError for a value of another kind, and for an invalid option */
export function buildNode(value: NodeLike, options: AdkNodeOptions = {}): BaseNode {
  const { parallelWorker, maxParallelWorkers, ...own } = options;
  if (maxParallelWorkers !== undefined && !parallelWorker)
    throw new ConfigurationError('node: maxParallelWorkers needs parallelWorker; write parallelWorker: true');
  if (value === 'START') return START;
  const built = buildOne(value, own);
  return parallelWorker ? new ParallelWorker(built, { maxParallelWorkers }) : built;
}

function buildOne(value: RunnableNode, options: AdkNodeOptions): BaseNode {
  const isChanged = Object.values(options).some((each) => each !== undefined);
  if (value instanceof FunctionNode && value.constructor === FunctionNode)
    return isChanged ? value.copy(options) : value;
  if (options.authConfig && typeof value !== 'function')
    throw new ConfigurationError(
      `node: authConfig: only the node of a function asks for a credential, and "${value.name}" would run without it; write node(async (context, input) => …, { name, authConfig }) before it`,
    );
  if (isBaseNode(value)) return isChanged ? new RenamedNode(value, options) : value;
  if (isBaseAgent(value)) return new AgentNode(value, options);
  if (isBaseTool(value)) return new ToolNode(value, options);
  if (typeof value !== 'function')
    throw new ConfigurationError(
      `node: expected a node, an agent, a tool or a function, got ${describeNodeOrKind(value)}; write node((input) => …, { name: 'work' })`,
    );
  const name = options.name ?? value.name;
  if (name === '') throw new ConfigurationError("node: the function has no name; write node(work, { name: 'work' })");
  // The types of the function are those that its author gave the node.
  return new FunctionNode(name, value as FunctionNodeHandler, options);
}

/**
 * Makes a node of a function, an agent, a tool or another node, for programs that were written for `@google/adk`.
 *
 * @example
 * const trim = node((_context: NodeContext, text: string) => text.trim(), { name: 'trim' });
 */
export function node(nodeLike: NodeLike, options: AdkNodeOptions = {}): BaseNode {
  checkOptions('node', OPTIONS, options);
  if (options.retryConfig) prepareRetryConfig(options.retryConfig);
  return buildNode(nodeLike, options);
}
