import { contentText, type EventActions, type LlmResponse, setOwn } from '@eventloom/core';
import type { SchemaCheck, ValueSchema } from '@eventloom/tools';
import type { LlmAgent } from '../llm-agent.ts';

/** The answer in a final response: its text, and with an output schema its value or what is wrong with it. */
export type FinalOutput = { readonly text: string; readonly value: unknown } | { readonly issues: readonly string[] };

/** The answer of an agent in a response without calls; undefined when the response holds none. */
export function readFinalOutput(
  agent: LlmAgent,
  response: LlmResponse,
): FinalOutput | undefined | Promise<FinalOutput> {
  const schema = agent.outputValueSchema;
  if (!schema && agent.outputKey === undefined) return undefined;
  const text = contentText(response.content);
  if (text === '' || (schema && response.errorCode !== undefined)) return undefined;
  return schema ? readValue(schema, text) : { text, value: text };
}

async function readValue(schema: ValueSchema, text: string): Promise<FinalOutput> {
  const checked = await checkText(schema, text);
  return 'issues' in checked ? checked : { text, value: checked.value };
}

async function checkText(schema: ValueSchema, text: string): Promise<SchemaCheck> {
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text));
  } catch (error) {
    return { issues: [`not JSON: ${(error as Error).message}`] };
  }
  return schema.check(value);
}

/** Models like to wrap JSON in a Markdown fence. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text;
}

/** Records the answer under the agent's output key. */
export function saveOutput(agent: LlmAgent, actions: EventActions, value: unknown): void {
  if (agent.outputKey !== undefined) setOwn(actions.stateDelta, agent.outputKey, value);
}

/** The error that an answer of the wrong shape carries; the model is told its message. */
export function describeMismatch(issues: readonly string[]): string {
  return `The answer does not match the required schema: ${issues.join('; ')}.`;
}
