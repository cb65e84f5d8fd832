import type { BaseAgent } from './base-agent.ts';

/** What agents are known by, in every loaded copy of this package. */
export const AGENT_BRAND: unique symbol = Symbol.for('eventloom.agent') as never;

/** True for agents, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseAgent(value: unknown): value is BaseAgent {
  return typeof value === 'object' && value !== null && AGENT_BRAND in value;
}
