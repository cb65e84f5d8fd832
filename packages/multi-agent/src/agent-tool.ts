import {
  type BaseAgent,
  BaseTool,
  ConfigurationError,
  type Content,
  contentText,
  type Event,
  type FunctionDeclaration,
  isBaseAgent,
  isFinalResponse,
  type RunAsyncToolRequest,
} from '@eventloom/core';
import {
  checkKnown,
  enclosedBranch,
  enclosureOf,
  type OptionNames,
  STRUCTURED_OUTPUT,
  describeKind,
} from '@eventloom/core/internal';
import { type ConfirmationRule, isConfirmed, type SchemaLike, ValueSchema } from '@eventloom/tools';
import { AgentAnswer } from './agent-answer.ts';
import { InnerStream } from './inner-stream.ts';

/** Config of an agent tool. */
export interface AgentToolConfig {
  /** The agent that is called. The tool has its name and description. It cannot transfer to agents above it in its tree. */
  readonly agent: BaseAgent;
  /** True makes the agent's answer the caller's answer: the calling model is not called to summarise it. Default false. */
  readonly skipSummarization?: boolean;
  /**
   * True yields the agent's events from the run as they come. The final event of an answer that was streamed in chunks is left
   * out. Default false: only the events of graph nodes, and in resumable runs those with long-running calls, are yielded.
   */
  readonly streamInner?: boolean;
  /**
   * True, or a function that returns true: the agent runs after a person confirmed the call. If the person rejects it, the
   * calling model gets a rejection. Default false.
   */
  readonly requireConfirmation?: ConfirmationRule<unknown>;
}

const OPTIONS: OptionNames<AgentToolConfig> = {
  agent: true,
  skipSummarization: true,
  streamInner: true,
  requireConfirmation: true,
};
const REQUEST = 'request';
const REQUEST_SCHEMA: SchemaLike = {
  type: 'object',
  properties: { [REQUEST]: { type: 'string', description: 'What the agent is to do, with all that it has to know.' } },
  required: [REQUEST],
};

/**
 * A tool that runs an agent and returns its answer. The calling agent keeps control of the conversation.
 *
 * Calls are isolated: the agent sees only its arguments and its own events, and no other agent sees its events. They are stored in
 * the same session, on the branch `…agent@callId`, together with the agent's state changes. For readers of the run, the actions of
 * the tool's response repeat these changes and the saved artifacts, except for keys that another agent changed since.
 *
 * The result is the value of the agent's last answer by its `outputSchema`, or else its text without thoughts. If the agent throws,
 * or its answer is truncated, the calling model gets `{error}`.
 *
 * In a resumable run the agent may ask people and wait for later results: its requests are yielded from the run, the run pauses, and
 * after the answer the call continues. In other runs the calling model gets an error in place of the wait.
 *
 * The arguments follow the agent's `inputSchema` and are passed to the agent as JSON. Without a schema there is one string,
 * `request`.
 *
 * @example
 * const researcher = new LlmAgent({ name: 'researcher', model: 'gemini-2.5-flash', description: 'Answers questions of fact.' });
 * const writer = new LlmAgent({ name: 'writer', model: 'gemini-2.5-flash', tools: [new AgentTool({ agent: researcher })] });
 */
export class AgentTool extends BaseTool {
  readonly agent: BaseAgent;
  readonly skipSummarization: boolean;
  readonly streamInner: boolean;
  readonly #parameters: ValueSchema;
  readonly #takesText: boolean;
  readonly #requireConfirmation: ConfirmationRule<unknown>;
  #declaration: FunctionDeclaration | undefined;

  /** @throws ConfigurationError for a value that is not an agent, a name that models do not accept, and an unknown option */
  constructor(config: AgentToolConfig) {
    if (isBaseAgent(config))
      throw new ConfigurationError(
        `AgentTool: expected an object of options; got an agent; write new AgentTool({ agent: ${config.name} })`,
      );
    const { agent } = config ?? {};
    const owner = isBaseAgent(agent) ? `tool "${agent.name}"` : 'AgentTool';
    checkKnown(owner, OPTIONS, config);
    if (!isBaseAgent(agent))
      throw new ConfigurationError(
        `AgentTool: agent must be an agent, such as new LlmAgent({ … }), is ${describeKind(agent)}`,
      );
    super({ name: agent.name, description: agent.description });
    const { requireConfirmation = false } = config;
    if (typeof requireConfirmation !== 'boolean' && typeof requireConfirmation !== 'function')
      throw new ConfigurationError(`${owner}: requireConfirmation must be true, false or a function`);
    this.agent = agent;
    this.skipSummarization = config.skipSummarization ?? false;
    this.streamInner = config.streamInner ?? false;
    this.#requireConfirmation = requireConfirmation;
    this.#takesText = agent.inputSchema === undefined;
    // `BaseAgent.inputSchema` is unknown; the constructor of ValueSchema checks it.
    this.#parameters = new ValueSchema((agent.inputSchema ?? REQUEST_SCHEMA) as SchemaLike, owner);
  }

  /** True: in a resumed run the agent continues from its own events. */
  override get resumesCalls(): boolean {
    return true;
  }

  override get calledAgent(): BaseAgent {
    return this.agent;
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
    if (!(await isConfirmed(this.#requireConfirmation, checked.value, toolContext, this.name))) return undefined;
    const answer = new AgentAnswer(this.name, actions);
    const pass = (event: Event): Promise<void> => toolContext.emitEvent(event);
    const stream = this.streamInner ? new InnerStream(pass) : undefined;
    const enclosure = enclosedBranch(invocationContext.branch, this.agent.name, functionCallId);
    const events = invocationContext.runSubInvocation({
      agent: this.agent,
      userContent: this.#toContent(checked.value),
      callId: functionCallId,
      streaming: this.streamInner,
      onRecorded: (event) => answer.add(this.#withValue(event)),
      onPause: () => toolContext.pause(),
    });
    try {
      for await (const event of events) {
        // Events of agents that this agent calls as tools are not part of its answer.
        if (!enclosureOf(event.branch).startsWith(`${enclosure}.`)) answer.add(event);
        if (stream) await stream.pass(event);
        else if (event.nodeEvent || (invocationContext.isResumable && event.longRunningToolIds?.length))
          await pass(event);
      }
    } catch (error) {
      await stream?.release();
      throw error;
    }
    await stream?.end();
    if (toolContext.isPaused) return undefined;
    if (this.skipSummarization) actions.skipSummarization = true;
    return answer.result();
  }

  /** Restores the structured output of a stored answer from its text, because only the text is stored. */
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
