import { ConfigurationError, type LlmRequest } from '@eventloom/core';

/**
 * Adds a tool that the model's service runs to a request.
 *
 * @param owner the tool, for error messages
 * @param minimum oldest major version of Gemini with the tool; default 1. Gemini 1 accepts such a tool only without other tools
 * @throws ConfigurationError for a model that is not Gemini or is too old, and for other tools beside it with Gemini 1
 */
export function addServiceTool(request: LlmRequest, owner: string, tool: object, minimum = 1): void {
  const { model = '' } = request;
  if (model === '') return;
  const version = geminiVersion(model);
  const tools = request.config.tools ?? [];
  if (version === undefined)
    throw new ConfigurationError(
      `${owner}: Google's service runs this tool, but the model "${model}" is not a Gemini model; write model: 'gemini-flash-latest', or remove the tool`,
    );
  if (version < minimum)
    throw new ConfigurationError(
      `${owner}: needs Gemini ${minimum} or later, but the model is "${model}"; write model: 'gemini-flash-latest'`,
    );
  if (version === 1 && tools.length > 0)
    throw new ConfigurationError(
      `${owner}: the model "${model}" cannot combine this tool with others; put the tool into a separate agent, and add that agent to tools as new AgentTool({ agent })`,
    );
  request.config.tools = [...tools, tool];
}

/**
 * Returns the major version of a Gemini model by its name; undefined for another model. For a name without a version
 * (`gemini-flash-latest`) and a tuned model at an endpoint (`projects/…/endpoints/1`), the newest version is assumed.
 */
export function geminiVersion(model: string): number | undefined {
  if (/(^|\/)endpoints\/[^/]+$/.test(model)) return Infinity;
  const name = model.slice(model.lastIndexOf('/') + 1);
  if (!name.startsWith('gemini-')) return undefined;
  const version = /^gemini-(\d{1,3})(?=[.-]|$)/.exec(name)?.[1];
  return version === undefined ? Infinity : Number(version);
}
