import { type BaseLlm, ConfigurationError } from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';
import { AgentTool } from '@eventloom/multi-agent';
import { GOOGLE_SEARCH } from '@eventloom/tools/built-in';
import { LlmAgent } from '../llm-agent.ts';
import { isLlmAgent } from '../llm-agent-config.ts';

/** Creates an agent named `google_search_agent`, whose only tool is Google Search. */
export function createGoogleSearchAgent(model: string | BaseLlm): LlmAgent {
  return new LlmAgent({
    name: 'google_search_agent',
    model,
    description: 'Searches the web with Google and answers from the results.',
    instruction:
      'You are a specialized Google search agent. Answer the question with what the `google_search` tool finds.',
    tools: [GOOGLE_SEARCH],
  });
}

/**
 * Google Search for agents that have other tools as well, which Gemini 2 does not allow in one request. The search is the only tool
 * of an agent of its own, and the sources that it finds are passed on: see `AgentToolConfig.propagateGroundingMetadata`.
 *
 * @example
 * const search = new GoogleSearchAgentTool(createGoogleSearchAgent('gemini-2.5-flash'));
 * const agent = new LlmAgent({ name: 'guide', model: 'gemini-2.5-flash', tools: [search, LOAD_MEMORY] });
 */
export class GoogleSearchAgentTool extends AgentTool {
  /** @throws ConfigurationError for a value that is not an LLM agent */
  constructor(agent: LlmAgent) {
    if (!isLlmAgent(agent))
      throw new ConfigurationError(
        `GoogleSearchAgentTool: expected an agent, got ${describeKind(agent)}; write new GoogleSearchAgentTool(createGoogleSearchAgent('gemini-2.5-flash'))`,
      );
    super({ agent, propagateGroundingMetadata: true });
  }
}
