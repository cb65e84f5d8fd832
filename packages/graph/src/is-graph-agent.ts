import type { BaseAgent } from '@eventloom/core';
import { isBaseAgent } from '@eventloom/core/internal';
import type { GraphAgent } from './graph-agent.ts';

export const GRAPH_BRAND: unique symbol = Symbol.for('eventloom.graph') as never;

/** Returns true for a graph agent. Unlike `instanceof`, it also recognises those of another loaded copy of this package. */
export function isGraphAgent(agent: BaseAgent): agent is GraphAgent {
  return isBaseAgent(agent) && GRAPH_BRAND in agent;
}
