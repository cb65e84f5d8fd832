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
  /** The agent that is called. Its name and description are the tool's; what is above it in a tree does not exist for it. */
  readonly agent: BaseAgent;
  /** The agent's answer is the answer: the calling model does not put it into words. Default false. */
  readonly skipSummarization?: boolean;
  /**
   * True to pass the agent's events on as they come, so that a reader sees it work. The whole event of an answer that came in chunks is left
   * out. Default false: only the events of graph nodes are passed on.
   */
  readonly streamInner?: boolean;
  /**
   * True, or a function that says so: the agent is run when a person has confirmed the call, and the calling model is told when they
   * reject it. Default false.
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
 * An agent that another agent's model calls like a function and that hands back its answer; the caller keeps the conversation.
 *
 * Each call is a world of its own: the agent sees the arguments and what it does itself, and nobody else sees its events. They
 * are stored in the same session, on the branch `…agent@callId`, and its state changes with them. The actions of the tool's response repeat
 * these changes and the artifacts that the agent saved for readers of the run, except for keys that another agent changed since. Its answer is the value by its
 * `outputSchema`, or else the text of its last answer; thoughts are left out. An agent that throws, or whose answer was cut off, is
 * an error that the calling model is told of.
 *
 * In a run that can be resumed the agent may ask people and wait for results that come later: its questions are passed on, the run
 * pauses, and with the answer the call goes on where it was. In other runs the caller is told that it would have to wait.
 *
 * The arguments are those of the agent's `inputSchema`, passed on as JSON, or one text, `request`.
 */
export class AgentTool extends BaseTool {
  readonly agent: BaseAgent;
  readonly skipSummarization: boolean;
  readonly streamInner: boolean;
  readonly #parameters: ValueSchema;
  readonly #takesText: boolean;
  readonly #requireConfirmation: ConfirmationRule<unknown>;
  #declaration: FunctionDeclaration | undefined;

  /** @throws ConfigurationError for what is no agent, a name that models do not accept, and an option this version does not have */
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
    // The constructor of ValueSchema checks what the contract of agents leaves open.
    this.#parameters = new ValueSchema((agent.inputSchema ?? REQUEST_SCHEMA) as SchemaLike, owner);
  }

  /** The agent continues from its own events. */
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
        // What agents further in say is between them and who called them.
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

  /** A stored answer with its value, which only its text is stored of. */
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
