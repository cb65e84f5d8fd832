import { type BaseLlm, type InvocationContext, ConfigurationError } from '@eventloom/core';
import { isLlmAgent } from './is-llm-agent.ts';
import type { LlmAgent } from './llm-agent.ts';

/** The agent of a turn with its model and context: what every step of the think-act loop works with. */
export interface AgentTurn {
  readonly agent: LlmAgent;
  readonly model: BaseLlm;
  readonly context: InvocationContext;
}

/**
 * Returns the agent's model: its own, or that of the nearest LLM agent above it that has one. A name is resolved by the runner's
 * `models`.
 * @throws ConfigurationError if there is no model, or `models` does not know the name
 */
export function resolveModel(agent: LlmAgent, context: InvocationContext): BaseLlm {
  const named = agent.model ?? inheritedModel(agent);
  if (typeof named !== 'string') return named;
  const { models } = context.invocation;
  const model = models?.(named);
  if (model) return model;
  throw new ConfigurationError(
    models
      ? `agent "${agent.name}": the runner's models know no model named "${named}"`
      : `agent "${agent.name}": the runner has no models to look "${named}" up in; hand it models, or give a model object`,
  );
}

function inheritedModel(agent: LlmAgent): string | BaseLlm {
  for (let above = agent.parentAgent; above; above = above.parentAgent) {
    if (isLlmAgent(above) && above.model !== undefined) return above.model;
  }
  throw new ConfigurationError(`agent "${agent.name}": has no model, and no LLM agent above it has one`);
}
