import {
  contentText,
  type Event,
  type EventActions,
  type LlmResponse,
  State,
  STRUCTURED_OUTPUT,
  toError,
} from '@eventloom/core';
import type { SchemaCheck, ValueSchema } from '@eventloom/tools';
import type { LlmAgent } from '../llm-agent.ts';
import type { AgentTurn } from '../agent-turn.ts';
import { isCutShort } from './model-reply.ts';

/** The answer in a final response, a value when there is an output schema; or what is wrong with it. */
export type FinalOutput = { readonly value: unknown } | { readonly issues: readonly string[] };

/** The answer of an agent in a response without calls; undefined when nobody wants it, or the model broke off before it was whole. */
export function readFinalOutput(
  agent: LlmAgent,
  response: LlmResponse,
): FinalOutput | undefined | Promise<SchemaCheck> {
  const schema = agent.outputValueSchema;
  if (!schema && agent.outputKey === undefined) return undefined;
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
