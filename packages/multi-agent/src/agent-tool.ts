import {
  type BaseAgent,
  BaseTool,
  ConfigurationError,
  type Content,
  contentText,
  type Event,
  EventTag,
  type FunctionDeclaration,
  hasTag,
  isFinalResponse,
  type RunAsyncToolRequest,
} from '@eventloom/core';
import {
  checkOptions,
  wrongOption,
  branchOfNode,
  enclosedBranch,
  enclosureOf,
  type OptionRules,
  STRUCTURED_OUTPUT,
  TIMEOUT,
  isBaseAgent,
  ReplyBuffer,
} from '@eventloom/core/internal';
import { type ConfirmationRule, refuseUnlessConfirmed, type SchemaLike, ValueSchema } from '@eventloom/tools';
import { AgentReply } from './agent-reply.ts';

/** Options of an `AgentTool`. */
export interface AgentToolConfig {
  /**
   * The agent that a call runs. The tool has the name and the description of this agent, so the description should say what the agent is
   * for. The agent may have sub-agents, and may transfer only to these.
   */
  readonly agent: BaseAgent;
  /**
   * True ends the turn of the calling agent with the reply of the called agent: the calling model is not called again to put it into its
   * own words. Default false.
   */
  readonly skipSummarization?: boolean;
  /**
   * True shows the work of the called agent in the stream of the run: its events are yielded as they come, its text in chunks if the run
   * streams. Default false: the stream shows only the call and its result, the progress of graph nodes, and in resumable runs questions to
   * people; the stored events are marked, so that chats which read the session show the same.
   */
  readonly streamInner?: boolean;
  /**
   * True passes the sources of the agent's reply on: its `groundingMetadata` is in the next replies of the calling agent, and in
   * the state under GROUNDING_METADATA_KEY until the end of the run. Default false.
   */
  readonly propagateGroundingMetadata?: boolean;
  /**
   * True asks a person before each call; a function decides for each call by its arguments. The agent runs after the person agreed. If
   * the person says no, it does not run, and the calling model gets an error. Default false.
   */
  readonly requireConfirmation?: ConfirmationRule<unknown>;
  /**
   * Maximum time of a call in milliseconds, those of the called agent's models and tools included; at most 24 days.
   * Then the agent is stopped, and the calling model gets a ToolTimeoutError as `{ error }`. Default: no limit.
   */
  readonly timeoutMs?: number | undefined;
}

const AGENT = 'new LlmAgent({ … })';
const OPTIONS: OptionRules<AgentToolConfig> = {
  agent: { is: 'object', wanted: 'an agent', write: AGENT },
  skipSummarization: 'flag',
  streamInner: 'flag',
  propagateGroundingMetadata: 'flag',
  requireConfirmation: { is: 'flag or function', wanted: 'true, false or a function', write: 'true' },
  timeoutMs: TIMEOUT,
};
/** The state key for the sources of an agent that was called as a tool: see `AgentToolConfig.propagateGroundingMetadata`. */
export const GROUNDING_METADATA_KEY = 'temp:_adk_grounding_metadata';

const REQUEST = 'request';
const REQUEST_SCHEMA: SchemaLike = {
  type: 'object',
  properties: { [REQUEST]: { type: 'string', description: 'What the agent is to do, with all that it has to know.' } },
  required: [REQUEST],
};

/**
 * A tool with which the model of one agent calls another agent and gets its reply as the result. The calling agent then continues the
 * conversation; an agent in `subAgents` would take the conversation over.
 *
 * - **Arguments.** Without an `inputSchema` of the called agent: one text, `request`. With one: an object of that schema, which the agent
 *   gets as JSON.
 * - **Result.** The text of the agent's last reply, or the value of its `outputSchema`. If the agent fails, the calling model gets `{
 *   error }`.
 * - **Context.** The called agent sees its arguments and the session's state, not the conversation. Other agents do not see its messages,
 *   which are stored in the session with a `branch` that ends in `agentName@callId`.
 * - **State.** State that the called agent writes is stored, and also appears in the `actions` of the tool's response.
 * - **Questions to people.** In a resumable run (`resumable: true`) the called agent may ask a person: the run pauses, and the call
 *   continues with the reply. In other runs, and inside another tool that is not `idempotent`, the calling model gets an error.
 *
 * @example
 * const model = 'gemini-flash-latest';
 * const researcher = new LlmAgent({ name: 'researcher', model, description: 'Answers questions of fact.' });
 * const writer = new LlmAgent({
 *   name: 'writer',
 *   model,
 *   instruction: 'Write a short article. Ask the researcher for facts.',
 *   tools: [new AgentTool({ agent: researcher })],
 * });
 */
export class AgentTool extends BaseTool {
  /** The agent that a call runs. */
  readonly agent: BaseAgent;
  /** See `AgentToolConfig.skipSummarization`. */
  readonly skipSummarization: boolean;
  /** See `AgentToolConfig.streamInner`. */
  readonly streamInner: boolean;
  readonly #propagateGroundingMetadata: boolean;
  readonly #parameters: ValueSchema;
  readonly #takesText: boolean;
  readonly #requireConfirmation: ConfirmationRule<unknown>;
  #declaration: FunctionDeclaration | undefined;

  /** @throws ConfigurationError for a value that is not an agent, a name that models do not accept, and an unknown option */
  constructor(config: AgentToolConfig) {
    if (isBaseAgent(config))
      throw new ConfigurationError(
        `AgentTool: expected an object of options, got an agent; write new AgentTool({ agent: ${config.name} })`,
      );
    const { agent } = config ?? {};
    const owner = isBaseAgent(agent) ? `tool "${agent.name}"` : 'AgentTool';
    checkOptions(owner, OPTIONS, config);
    if (!isBaseAgent(agent)) throw wrongOption('AgentTool', 'agent', 'an agent', agent, AGENT);
    super({ name: agent.name, description: agent.description, timeoutMs: config.timeoutMs });
    const { requireConfirmation = false } = config;
    this.agent = agent;
    this.skipSummarization = config.skipSummarization ?? false;
    this.streamInner = config.streamInner ?? false;
    this.#propagateGroundingMetadata = config.propagateGroundingMetadata ?? false;
    this.#requireConfirmation = requireConfirmation;
    this.#takesText = agent.inputSchema === undefined;
    // `BaseAgent.inputSchema` is unknown; the constructor of ValueSchema checks it.
    this.#parameters = new ValueSchema((agent.inputSchema ?? REQUEST_SCHEMA) as SchemaLike, owner);
  }

  /** True: in a resumed run the agent continues from its own events. @internal */
  override get resumesCalls(): boolean {
    return true;
  }

  /** @internal */
  override get calledAgent(): BaseAgent {
    return this.agent;
  }

  /** @internal */
  override get propagateGroundingMetadata(): boolean {
    return this.#propagateGroundingMetadata;
  }

  override _getDeclaration(): FunctionDeclaration {
    return (this.#declaration ??= {
      name: this.name,
      description: this.description,
      parametersJsonSchema: this.#parameters.json,
    });
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const checked = await this.#parameters.check(args);
    if ('issues' in checked) {
      return { error: `the arguments of ${this.name} are not valid: ${checked.issues.join('; ')}` };
    }
    const { actions, functionCallId, invocationContext } = toolContext;
    const refusal = await refuseUnlessConfirmed(this.#requireConfirmation, checked.value, toolContext, this.name);
    if (refusal) return refusal;
    const reply = new AgentReply(this.name, actions);
    // The context of a callback, which a program of `@eventloom/adk` may give, shows no events.
    const pass = async (event: Event): Promise<void> => toolContext.emitEvent?.(event);
    const stream = this.streamInner ? new InnerStream(pass) : undefined;
    const enclosure = enclosedBranch(invocationContext.branch, this.agent.name, functionCallId);
    const events = invocationContext.runSubInvocation({
      agent: this.agent,
      userContent: this.#toContent(checked.value),
      callId: functionCallId,
      caller: toolContext,
      streaming: this.streamInner,
      onRecorded: (event) => reply.add(this.#withValue(event)),
      onPause: () => toolContext.pause(),
    });
    try {
      for await (const event of events) {
        // Events of agents that this agent calls as tools are not part of its reply. Those of agents in its nodes are.
        if (!enclosureOf(branchOfNode(event)).startsWith(`${enclosure}.`)) reply.add(event);
        if (stream) await stream.pass(event);
        else if (event.nodeEvent || (invocationContext.isResumable && isOfRequest(event))) await pass(event);
      }
    } catch (error) {
      await stream?.release();
      throw error;
    }
    await stream?.end();
    if (toolContext.isPaused) return undefined;
    if (this.skipSummarization) actions.skipSummarization = true;
    if (this.propagateGroundingMetadata && reply.groundingMetadata !== undefined)
      toolContext.state.set(GROUNDING_METADATA_KEY, reply.groundingMetadata);
    return reply.result();
  }

  /** Restores the structured output of a stored reply from its text, because only the text is stored. */
  #withValue(event: Event): Event {
    const { agent } = this;
    const isValue = 'outputSchema' in agent && agent.outputSchema !== undefined && event.author === agent.name;
    if (!isValue || !isFinalResponse(event) || event.errorCode !== undefined) return event;
    try {
      return { ...event, [STRUCTURED_OUTPUT]: JSON.parse(contentText(event.content)) };
    } catch {
      return event;
    }
  }

  #toContent(value: unknown): Content {
    const given = this.#takesText ? (value as Record<string, unknown>)[REQUEST] : value;
    return { role: 'user', parts: [{ text: typeof given === 'string' ? given : JSON.stringify(given) }] };
  }

  /** Closes the agent. */
  override close(): Promise<void> | void {
    return this.agent.close();
  }
}

/** True for an event that asks a person, and for one that cancels a request. */
function isOfRequest(event: Event): boolean {
  return Boolean(event.longRunningToolIds?.length) || hasTag(event, EventTag.cancelled);
}

/**
 * Yields the stored events of an agent that is called as a tool. Leaves out the final event of its reply if the reply was streamed in
 * chunks, because the tool's response repeats the text. The last reply is known only at the end, so the final event of a streamed reply
 * is held back until the agent ends or yields another event with content.
 */
class InnerStream {
  readonly #buffer: ReplyBuffer;
  readonly #chunked = new Set<string>();

  constructor(pass: (event: Event) => Promise<void>) {
    this.#buffer = new ReplyBuffer(pass);
  }

  /** Yields an event, or holds it back if it may be the final event of the last reply. */
  pass(event: Event): Promise<void> {
    const { responseId, partial } = event;
    if (partial === true && responseId !== undefined) this.#chunked.add(responseId);
    return this.#buffer.pass(event, responseId !== undefined && this.#chunked.has(responseId) && isReply(event));
  }

  /** Ends the stream after the agent completed: drops the held reply and yields the events held after it. */
  end(): Promise<void> {
    return this.#buffer.dropReply();
  }

  /** Yields all events that are held back. */
  release(): Promise<void> {
    return this.#buffer.release();
  }
}

/** True for the final event of a reply without an error. */
function isReply(event: Event): boolean {
  return event.partial !== true && event.errorCode === undefined && isFinalResponse(event);
}
