import type { BaseAgent } from './base-agent.ts';

/** True for agents, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseAgent(value: unknown): value is BaseAgent {
  return typeof value === 'object' && value !== null && '~eventloom.agent' in value;
}
