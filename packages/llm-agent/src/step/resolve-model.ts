import { type BaseLlm, ConfigurationError, type InvocationContext } from '@eventloom/core';
import type { LlmAgent } from '../llm-agent.ts';

/** The agent's model object: its own, or the one that its name stands for. @throws ConfigurationError when nobody knows the name */
export function resolveModel(agent: LlmAgent, context: InvocationContext): BaseLlm {
  if (typeof agent.model !== 'string') return agent.model;
  const { models } = context.invocation;
  const model = models?.(agent.model);
  if (model) return model;
  throw new ConfigurationError(
    models
      ? `agent "${agent.name}": the runner's models know no model named "${agent.model}"`
      : `agent "${agent.name}": model "${agent.model}" is a name and the runner has no models to look it up in; give a model object, or hand models to the runner`,
  );
}
