import {
  BaseAgent,
  ConfigurationError,
  type Content,
  contentText,
  type Event,
  getStructuredOutput,
  type InvocationContext,
  type JsonValue,
  OutputSchemaError,
} from '@eventloom/core';
import { Calls, isBookkeeping, jsonOrText, lacksResult, sealJson } from '@eventloom/core/internal';
import { isLlmAgent, type LlmAgent } from '@eventloom/llm-agent';
import { toModelContent } from '@eventloom/llm-agent/internal';
import { copyWithOutputSchema, nodeOptionsOf } from '../agent-options.ts';
import { NodeInterruptedError } from '../errors.ts';
import { OpenCallTool } from '../open-call-tool.ts';
import { BaseNode, type BaseNodeConfig, isContent } from './base-node.ts';
import { scopeInstructions } from './instruction-scope.ts';
import { type AdkNodeContext, asTaskResult, type NodePlace, withNode } from './node-context.ts';

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

  /** False for an agent without a model: it, or an agent in it, may ask after it gave an output. */
  override get endsWithOutput(): boolean {
    return isLlmAgent(this.agent);
  }

  override get continuesCalls(): boolean {
    return true;
  }

  /** Returns the output of an LLM agent as it is, because the agent has parsed it with its schema. */
  protected override checkOutput(output: unknown): Promise<unknown> {
    return isLlmAgent(this.agent) ? Promise.resolve(output) : super.checkOutput(output);
  }

  protected override async *runImpl(context: AdkNodeContext, input: unknown): AsyncGenerator<unknown, void, void> {
    const { agent } = this;
    const { invocationContext, place, guard } = context;
    if (!isLlmAgent(agent)) {
      const { invocation } = invocationContext;
      const own = invocationContext.withInvocation({ ...invocation, rootAgent: agent, readsNodes: true });
      // The agent that gave the output may be done.
      context.output = place.earlier?.output;
      context.route = place.earlier?.route;
      yield* own.runAgent(agent, { ...branchOf(context), abort: guard });
      if (own.isPaused) this.#wait(context);
      if (own.isResumable) context.interruptIds = [];
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
      if (turn.isPaused) this.#wait(context);
      context.interruptIds = [];
      return;
    }
    const open = new Set<string>();
    const note = ({ longRunningToolIds = [] }: Event): void => longRunningToolIds.forEach((id) => open.add(id));
    const events = invocationContext.runSubInvocation({
      agent: turn,
      userContent: isEmpty(input) ? toContext(place) : toMessage(input),
      callId,
      branch: place.branch,
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
    this.#wait(context);
  }

  /** Ends the run of the node, whose agent waits: for the answers to its open questions, also those that were asked in an earlier run. */
  #wait(context: AdkNodeContext): never {
    const { questions } = context.place;
    for (const { id = '' } of questions) if (!(id in context.resumeInputs)) context.interruptIds.push(id);
    // Events of agents that the agent calls as tools do not name the node.
    if (context.interruptIds.length === 0) context.interruptIds.push(context.nodePath);
    throw new NodeInterruptedError(`agent "${this.agent.name}" waits for an answer`);
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
 * Returns true for the input of an agent that sees the conversation, if the input is neither the user's message nor the
 * last text of a node in a scope that the agent sees.
 */
function isUnread(input: unknown, { mode }: LlmAgent, place: NodePlace): boolean {
  const { runs, invocationContext, isolationScope, hasBegun } = place;
  if (hasBegun || mode === 'task' || isEmpty(input) || input === null) return false;
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
  override get isObserved(): boolean {
    return false;
  }

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

  override get isObserved(): boolean {
    return false;
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { place } = this.#node;
    const own = context.withInvocation({ ...context.invocation, rootAgent: this.#agent });
    scopeInstructions(own.invocation, { input: this.#input, outputs: place.outputs });
    // An agent that the agent calls as a tool may wait too. Its calls do not name the node.
    const waits = (): boolean => own.isPaused || this.#waits(context);
    for await (const event of own.runAgent(this.#agent)) {
      if (context.progress.isCommitted(event)) yield event;
      else if (event.partial === true) yield withNode(place, event);
      else {
        this.#node.checkState(event.actions);
        // A task of the agent has its result in the response of its call.
        const isOfTask = event.isolationScope !== context.isolationScope;
        if (isOfTask) yield withNode(place, asTaskResult(event));
        else if (!waits()) yield withNode(place, withOutput(this.#agent, event));
        else if (!isEnd(event)) yield withNode(place, event);
      }
    }
    if (!waits()) return;
    this.isPaused = true;
    context.pause();
  }

  /** True while a long-running call of the agent has no result. The node is then not done, whatever the model said meanwhile. */
  #waits({ invocationId, invocation }: InvocationContext): boolean {
    const withResult = new Set(this.#agent.tools.flatMap((tool) => (tool instanceof OpenCallTool ? tool.name : [])));
    return Calls.of(invocation)
      .longRunningIn(invocationId)
      .some(
        (made) =>
          made.event.nodeInfo?.path === this.#node.nodePath &&
          lacksResult(made) &&
          !(made.responses.length > 0 && withResult.has(made.call.name ?? '')),
      );
  }
}

/** Returns true for an event that only marks the end of an agent. */
function isEnd({ actions, content }: Event): boolean {
  return actions.endOfAgent === true && !content;
}

/**
 * Returns the whole event with the agent's answer as the output of its node, unless the answer was refused. The result
 * of a task is an output already.
 */
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
