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
  STRUCTURED_OUTPUT,
} from '@eventloom/core';
import { type SchemaLike, ValueSchema } from '@eventloom/tools';
import { AgentAnswer } from './agent-answer.ts';
import { InnerStream } from './inner-stream.ts';

/** What an agent tool is made of. */
export interface AgentToolConfig {
  /** The agent that is called. Its name and description are the tool's; what is above it in a tree does not exist for it. */
  readonly agent: BaseAgent;
  /** The agent's answer is the answer: the calling model does not put it into words. Default false. */
  readonly skipSummarization?: boolean;
  /** Passes the agent's events on as they come, so that a reader sees it work. Default false. */
  readonly streamInner?: boolean;
}

const OPTIONS = new Set<string>(['agent', 'skipSummarization', 'streamInner'] satisfies (keyof AgentToolConfig)[]);
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
 * are stored in the same session, on the branch `…agent@callId`. What it changes in state and saves as artifacts is also in the
 * actions of the tool's response. Its answer is the value by its `outputSchema`, or else the text of its last answer; thoughts
 * are left out. An agent that throws is an error that the calling model is told of.
 *
 * The arguments are those of the agent's `inputSchema`, passed on as JSON, or one text, `request`.
 */
export class AgentTool extends BaseTool {
  readonly agent: BaseAgent;
  readonly skipSummarization: boolean;
  readonly streamInner: boolean;
  readonly #parameters: ValueSchema;
  readonly #takesText: boolean;
  #declaration: FunctionDeclaration | undefined;

  /** @throws ConfigurationError for what is no agent, a name that models do not accept, and an option this version does not have */
  constructor(config: AgentToolConfig) {
    const { agent } = config;
    if (!isBaseAgent(agent)) throw new ConfigurationError('AgentTool: agent must be an agent');
    super({ name: agent.name, description: agent.description });
    const owner = `tool "${agent.name}"`;
    for (const option in config) {
      if (!OPTIONS.has(option))
        throw new ConfigurationError(`${owner}: has no option "${option}"; it has ${[...OPTIONS].join(', ')}`);
    }
    this.agent = agent;
    this.skipSummarization = config.skipSummarization ?? false;
    this.streamInner = config.streamInner ?? false;
    this.#takesText = agent.inputSchema === undefined;
    // The constructor of ValueSchema checks what the contract of agents leaves open.
    this.#parameters = new ValueSchema((agent.inputSchema ?? REQUEST_SCHEMA) as SchemaLike, owner);
  }

  /** The agent goes on from its own events. */
  override get goesOn(): boolean {
    return true;
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
    const answer = new AgentAnswer(this.name, actions);
    const events = invocationContext.runSubInvocation({
      agent: this.agent,
      userContent: this.#toContent(checked.value),
      callId: functionCallId,
      streaming: this.streamInner,
      onPast: (event) => answer.add(this.#withValue(event)),
    });
    const stream = this.streamInner ? new InnerStream((event: Event) => toolContext.emitEvent(event)) : undefined;
    for await (const event of events) {
      answer.add(event);
      await stream?.pass(event);
    }
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
