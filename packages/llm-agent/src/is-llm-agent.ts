import type { LlmAgent } from './llm-agent.ts';

/** What LLM agents are known by, in every loaded copy of this package. */
export const LLM_AGENT_BRAND: unique symbol = Symbol.for('eventloom.llm-agent') as never;

/** True for LLM agents, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isLlmAgent(value: unknown): value is LlmAgent {
  return typeof value === 'object' && value !== null && LLM_AGENT_BRAND in value;
}
