import {
  BaseTool,
  contentText,
  type Event,
  type EventActions,
  type FunctionDeclaration,
  type LlmResponse,
  type RunAsyncToolRequest,
  State,
  toError,
} from '@eventloom/core';
import { FINISH_TASK, STRUCTURED_OUTPUT, SET_MODEL_RESPONSE } from '@eventloom/core/internal';
import { type SchemaCheck, ValueSchema } from '@eventloom/tools';
import type { AgentTurn } from './agent-turn.ts';
import type { LlmAgent } from './llm-agent.ts';
import { isTruncated } from './model-call.ts';

/**
 * The final output of an agent (a text, or a value if there is an output schema), or the problems found in it. It comes
 * in one of three ways:
 *
 * | way                                | used by                                             | read by           | ends the turn with      |
 * | ---------------------------------- | --------------------------------------------------- | ----------------- | ----------------------- |
 * | a reply without calls              | every agent that is not a task                      | `readFinalOutput` | the reply               |
 * | a call of `set_model_response`     | an `outputSchema` beside tools, on models that need it | `OutputTool`   | an event of its own     |
 * | a call of `finish_task`            | an agent with `mode: 'task'`                        | `OutputTool`      | the response to the call |
 */
type FinalOutput = { readonly value: unknown } | { readonly issues: readonly string[] };

/** Reads the final output from a response without calls. Undefined if there is no text, or if a structured output was truncated. */
export function readFinalOutput(
  agent: LlmAgent,
  response: LlmResponse,
): FinalOutput | undefined | Promise<SchemaCheck> {
  const schema = agent.outputValueSchema;
  const text = contentText(response.content);
  if (!schema) return text === '' ? undefined : { value: text };
  if (response.errorCode !== undefined || isTruncated(response)) return undefined;
  return text === '' ? { issues: ['it is empty'] } : checkText(schema, text);
}

async function checkText(schema: ValueSchema, text: string): Promise<SchemaCheck> {
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text));
  } catch (error) {
    return { issues: [`not JSON: ${toError(error).message}`] };
  }
  return schema.check(value);
}

/** Removes a Markdown fence, in which models often wrap JSON. Takes linear time: failing models may write endless newlines. */
function withoutFence(text: string): string {
  const block = text.trim();
  const line = block.indexOf('\n');
  return line > 0 && block.startsWith('```') && block.endsWith('```') ? block.slice(line, -3) : text;
}

/** Stores the output under the agent's output key, if it has one. @throws StateValueError for a value that is not JSON */
export function saveOutput({ agent, context }: AgentTurn, actions: EventActions, value: unknown): void {
  if (agent.outputKey !== undefined) new State(context.invocation.session.state, actions).set(agent.outputKey, value);
}

/** Creates the event that ends the turn with an output from `set_model_response`, and stores the output. */
export function toOutputEvent(turn: AgentTurn, value: unknown): Event {
  const event = turn.context.createEvent({ content: { role: 'model', parts: [{ text: JSON.stringify(value) }] } });
  saveOutput(turn, event.actions, value);
  return { ...event, [STRUCTURED_OUTPUT]: value };
}

/** Returns the event of an agent with `mode` with its result, as ADK 2 shows it, and stores the result. */
export function withOutput(turn: AgentTurn, event: Event, output: unknown): Event {
  saveOutput(turn, event.actions, output);
  return { ...event, output, nodeInfo: { ...event.nodeInfo, messageAsOutput: true }, [STRUCTURED_OUTPUT]: output };
}

/** Formats the problems of an output that does not match the schema. The model gets this message. */
export function describeMismatch(issues: readonly string[]): string {
  return `The answer does not match the schema: ${issues.join('; ')}.`;
}

/** The differences between the tools with which a model delivers a result. */
interface OutputToolTexts {
  readonly name: string;
  readonly description: string;
  /** Name of the argument that holds a result whose schema is not an object, because arguments always are an object. */
  readonly wrapper: string;
  /** The response to a result that matches the schema. */
  readonly accepted: unknown;
}

const SET_RESPONSE: OutputToolTexts = {
  name: SET_MODEL_RESPONSE,
  description: 'Hands in the final output in the required shape.',
  wrapper: 'value',
  accepted: { status: 'accepted' },
};

const TASK: OutputToolTexts = {
  name: FINISH_TASK,
  description: 'Signals that the agent has completed its task, and hands in the result.',
  wrapper: 'result',
  accepted: 'Task completed.',
};

/** Returns the schema of the result of a task without an `outputSchema`. */
function taskResult(): ValueSchema {
  const result = { type: 'string', description: 'A brief summary of what the agent accomplished.' };
  return new ValueSchema({ type: 'object', properties: { result }, required: ['result'] }, FINISH_TASK);
}

/**
 * The tool with which a model delivers its structured output, for models that cannot combine an output schema with
 * tools. Each request needs a new instance, because the instance keeps the output.
 */
export class OutputTool extends BaseTool {
  readonly #schema: ValueSchema;
  readonly #tool: OutputToolTexts;
  #output: FinalOutput | undefined;

  constructor(schema: ValueSchema, tool: OutputToolTexts = SET_RESPONSE) {
    const { name, description } = tool;
    super({ name, description, idempotent: true });
    this.#schema = schema;
    this.#tool = tool;
  }

  /** Creates the tool `finish_task` of an agent with `mode: 'task'`. @param schema the agent's `outputSchema` */
  static forTask(schema: ValueSchema | undefined): OutputTool {
    return new OutputTool(schema ?? taskResult(), TASK);
  }

  override _getDeclaration(): FunctionDeclaration {
    const { json } = this.#schema;
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: this.#isWrapped() ? wrapped(json, this.#tool.wrapper) : json,
    };
  }

  #isWrapped(): boolean {
    return this.#schema.json['type'] !== 'object';
  }

  /** The delivered output, or its problems; undefined if the model delivered none. A later call replaces an output that has problems. */
  get output(): FinalOutput | undefined {
    return this.#output;
  }

  /** Returns the output in these arguments; undefined if it does not match the schema. */
  async check(args: Record<string, unknown>): Promise<{ readonly value: unknown } | undefined> {
    const checked = await this.#check(args);
    return 'value' in checked ? checked : undefined;
  }

  #check(args: Record<string, unknown>): ReturnType<ValueSchema['check']> {
    return this.#schema.check(this.#isWrapped() ? args[this.#tool.wrapper] : args);
  }

  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    const checked = await this.#check(args);
    if ('issues' in checked) {
      if (!this.#output || 'issues' in this.#output) this.#output = checked;
      return { error: `the answer does not match the schema: ${checked.issues.join('; ')}` };
    }
    this.#output = checked;
    return this.#tool.accepted;
  }
}

/** Returns an object schema with the given schema as a property of this name. Definitions move to the root, where `$ref` looks for them. */
function wrapped({ $defs, definitions, ...json }: Record<string, unknown>, name: string): Record<string, unknown> {
  return {
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
    type: 'object',
    properties: { [name]: json },
    required: [name],
  };
}
