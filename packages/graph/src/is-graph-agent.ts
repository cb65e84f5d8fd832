import type { BaseAgent } from '@eventloom/core';
import type { GraphAgent } from './graph-agent.ts';

export const GRAPH_BRAND: unique symbol = Symbol.for('eventloom.graph') as never;

/** True for graphs, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isGraphAgent(agent: BaseAgent): agent is GraphAgent {
  return GRAPH_BRAND in agent;
}
