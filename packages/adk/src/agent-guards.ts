import type { BaseAgent, InvocationContext } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { isLlmAgent } from '@eventloom/llm-agent';
import { AgentTool, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { requireArgument } from './check-arguments.ts';

/** Returns true for a `SequentialAgent`. */
export function isSequentialAgent(value: unknown): value is SequentialAgent {
  return value instanceof SequentialAgent;
}

/** Returns true for a `ParallelAgent`. */
export function isParallelAgent(value: unknown): value is ParallelAgent {
  return value instanceof ParallelAgent;
}

/** Returns true for a `LoopAgent`. */
export function isLoopAgent(value: unknown): value is LoopAgent {
  return value instanceof LoopAgent;
}

/** Returns true for an `AgentTool`. */
export function isAgentTool(value: unknown): value is AgentTool {
  return value instanceof AgentTool;
}

/**
 * Returns true if a later message of the user may go to this agent: it and all of its ancestors are LLM agents that may
 * transfer to their parent.
 */
export function isRoutableLlmAgent(agentToRun: BaseAgent): boolean {
  for (let agent: BaseAgent | undefined = agentToRun; agent; agent = agent.parentAgent)
    if (!isLlmAgent(agent) || agent.disallowTransferToParent) return false;
  return true;
}

/** Returns the agent of a context. @throws ConfigurationError for a value that is not a context */
export function requireAgent(context: InvocationContext): BaseAgent {
  requireArgument(isRecord(context), 'requireAgent', 'a context', context, 'requireAgent(context)');
  return context.agent;
}
