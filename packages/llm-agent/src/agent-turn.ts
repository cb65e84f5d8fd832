import { type BaseLlm, ConfigurationError, type InvocationContext } from '@eventloom/core';
import type { LlmAgent } from './llm-agent.ts';
import { isLlmAgent } from './llm-agent-config.ts';
import { type StaticRequest, staticRequestOf } from './static-request.ts';

/** An agent's turn: the agent, its model and its context, shared by all steps of the turn. A step is one model call with its tool calls. */
export interface AgentTurn {
  readonly agent: LlmAgent;
  readonly model: BaseLlm;
  readonly context: InvocationContext;
  /** The parts of the model requests that are the same in every step. */
  readonly parts: StaticRequest;
  /** True if the requests of all steps differ only in their contents, because no tool, plugin or instruction changes them. */
  readonly isStatic: boolean;
}

/**
 * Creates a turn with the agent's own model, or that of its nearest ancestor that has one. The runner's `models` resolves a model name.
 * @throws ConfigurationError if no agent has a model, or `models` does not know the name
 */
export function createTurn(agent: LlmAgent, context: InvocationContext): AgentTurn {
  const { rootAgent, contextCacheConfig } = context.invocation;
  const named = agent.model ?? inheritedModel(agent);
  const model = typeof named === 'string' ? findModel(named, agent, context) : named;
  const parts = staticRequestOf(agent, rootAgent);
  const isStatic =
    parts.whole !== undefined &&
    context.extraTools.length === 0 &&
    context.extraInstructions.length === 0 &&
    context.runConfig.clientTools === undefined &&
    contextCacheConfig === undefined &&
    !context.plugins.has('beforeToolSelection');
  return { agent, model, context, parts, isStatic };
}

function findModel(name: string, agent: LlmAgent, { invocation: { models } }: InvocationContext): BaseLlm {
  const model = models?.(name);
  if (model) return model;
  throw new ConfigurationError(
    models
      ? `agent "${agent.name}": the runner's models do not know the model "${name}"; geminiModels knows names that begin with gemini-; for another service, give the agent a model object that extends BaseLlm`
      : `agent "${agent.name}": its model is the name "${name}", and the runner has no models to find it in; give the runner models: geminiModels({ apiKey }), or the agent model: new Gemini({ model: "${name}", apiKey })`,
  );
}

function inheritedModel(agent: LlmAgent): string | BaseLlm {
  for (let above = agent.parentAgent; above; above = above.parentAgent) {
    if (isLlmAgent(above) && above.model !== undefined) return above.model;
  }
  throw new ConfigurationError(
    `agent "${agent.name}": has no model, and no LLM agent above it has one; write model: 'gemini-flash-latest' in its options`,
  );
}
