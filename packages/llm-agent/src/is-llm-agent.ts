import type { LlmAgent } from './llm-agent.ts';

/** True for LLM agents, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isLlmAgent(value: unknown): value is LlmAgent {
  return typeof value === 'object' && value !== null && '~eventloom.llm-agent' in value;
}
