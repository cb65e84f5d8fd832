import {
  BaseTool,
  contentText,
  type Event,
  type EventActions,
  type FunctionDeclaration,
  type LlmResponse,
  type RunAsyncToolRequest,
  SET_MODEL_RESPONSE,
  State,
  toError,
} from '@eventloom/core';
import { STRUCTURED_OUTPUT } from '@eventloom/core/internal';
import type { SchemaCheck, ValueSchema } from '@eventloom/tools';
import type { AgentTurn } from './agent-turn.ts';
import type { LlmAgent } from './llm-agent.ts';
import { isCutShort } from './reply.ts';

/** The answer in a final response, a value when there is an output schema; or what is wrong with it. */
type FinalOutput = { readonly value: unknown } | { readonly issues: readonly string[] };

/** The answer of an agent with an output key or schema in a response without calls; undefined for none, and for one that broke off. */
export function readFinalOutput(
  agent: LlmAgent,
  response: LlmResponse,
): FinalOutput | undefined | Promise<SchemaCheck> {
  const schema = agent.outputValueSchema;
  const text = contentText(response.content);
  if (!schema) return text === '' ? undefined : { value: text };
  if (response.errorCode !== undefined || isCutShort(response)) return undefined;
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

/** Models like to wrap JSON in a Markdown fence. Takes linear time whatever the model says: endless newlines are a way in which models fail. */
function withoutFence(text: string): string {
  const block = text.trim();
  const line = block.indexOf('\n');
  return line > 0 && block.startsWith('```') && block.endsWith('```') ? block.slice(line, -3) : text;
}

/** Records the answer under the agent's output key. @throws StateValueError for a value that is not JSON */
export function saveOutput({ agent, context }: AgentTurn, actions: EventActions, value: unknown): void {
  if (agent.outputKey !== undefined) new State(context.session.state, actions).set(agent.outputKey, value);
}

/** The answer that came by `set_model_response`, as the event that ends the turn. */
export function structuredAnswer(turn: AgentTurn, value: unknown): Event {
  const event = turn.context.createEvent({ content: { role: 'model', parts: [{ text: JSON.stringify(value) }] } });
  saveOutput(turn, event.actions, value);
  return { ...event, [STRUCTURED_OUTPUT]: value };
}

/** The error that an answer of the wrong shape carries; the model is told its message. */
export function describeMismatch(issues: readonly string[]): string {
  return `The answer does not match the schema: ${issues.join('; ')}.`;
}

/** A wrapper around a schema that is no object: arguments always are one. */
const VALUE = 'value';

/**
 * Lets the model deliver an answer that matches the output schema as a tool call, if it cannot combine an output schema
 * with tools. Made for each request: it keeps the answer.
 */
export class SetModelResponseTool extends BaseTool {
  readonly #schema: ValueSchema;
  #accepted: { readonly value: unknown } | undefined;
  #issues: readonly string[] | undefined;

  constructor(schema: ValueSchema) {
    super({
      name: SET_MODEL_RESPONSE,
      description: 'Hands in the final answer in the required shape.',
      idempotent: true,
    });
    this.#schema = schema;
  }

  override _getDeclaration(): FunctionDeclaration {
    const { json } = this.#schema;
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: this.#isWrapped() ? wrapped(json) : json,
    };
  }

  #isWrapped(): boolean {
    return this.#schema.json['type'] !== 'object';
  }

  /** The answer that was handed in and matched the schema. */
  get accepted(): { readonly value: unknown } | undefined {
    return this.#accepted;
  }

  /** Problems of a delivered answer that did not match the schema. */
  get issues(): readonly string[] | undefined {
    return this.#issues;
  }

  /** The answer that these arguments hand in; undefined for one that does not match the schema. */
  async check(args: Record<string, unknown>): Promise<{ readonly value: unknown } | undefined> {
    const checked = await this.#check(args);
    return 'value' in checked ? checked : undefined;
  }

  #check(args: Record<string, unknown>): ReturnType<ValueSchema['check']> {
    return this.#schema.check(this.#isWrapped() ? args[VALUE] : args);
  }

  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    const checked = await this.#check(args);
    if ('issues' in checked) {
      this.#issues = checked.issues;
      return { error: `the answer does not match the schema: ${checked.issues.join('; ')}` };
    }
    this.#accepted = checked;
    return { status: 'accepted' };
  }
}

/** An object with the value in it. Definitions move to its root, where references look for them. */
function wrapped({ $defs, definitions, ...json }: Record<string, unknown>): Record<string, unknown> {
  return {
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
    type: 'object',
    properties: { [VALUE]: json },
    required: [VALUE],
  };
}
