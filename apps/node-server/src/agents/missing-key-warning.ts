import type { BaseAgent } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import type { Runner } from '@eventloom/runner';

/** What to say of agents that name a Gemini model when there is no key to reach it with; undefined when there is nothing to say. */
export function missingKeyWarning(runners: readonly Runner[]): string | undefined {
  const named = runners.flatMap(({ appName, agent }) => {
    const models = new Set(modelNames(agent));
    return models.size > 0 ? [`${appName} (${[...models].join(', ')})`] : [];
  });
  if (named.length === 0) return undefined;
  return `no key is set, so these agents cannot ask their models: ${named.join(', ')}; set GEMINI_API_KEY and start again`;
}

/** The models that an agent and those below it name. */
function modelNames(agent: BaseAgent): string[] {
  const own = agent instanceof LlmAgent && typeof agent.model === 'string' ? [agent.model] : [];
  return [...own, ...agent.subAgents.flatMap(modelNames)];
}
