import { BaseTool, type ToolProcessLlmRequest } from '@eventloom/core';
import { addServiceTool, geminiVersion } from './add-service-tool.ts';

/** A tool that Google's service runs while it answers. It adds an entry to the request's tools; no function of this process is called. */
export abstract class ServiceTool extends BaseTool {
  /** Resolves to undefined: the service runs the tool. */
  override runAsync(): Promise<unknown> {
    return Promise.resolve();
  }

  abstract override processLlmRequest(request: ToolProcessLlmRequest): Promise<void> | void;
}

/**
 * A tool that searches the web with Google. Google's service runs it while the model answers. The answer's sources are in the event's
 * `groundingMetadata`.
 *
 * Models before Gemini 3 refuse it beside function tools and transfers to other agents: use `GoogleSearchAgentTool` with them.
 *
 * @throws ConfigurationError in the run for a model that is not Gemini, and beside other tools with Gemini 1
 */
export class GoogleSearchTool extends ServiceTool {
  constructor() {
    super({ name: 'google_search', description: 'Searches the web with Google.' });
  }

  override processLlmRequest({ llmRequest }: ToolProcessLlmRequest): void {
    const isFirst = geminiVersion(llmRequest.model ?? '') === 1;
    addServiceTool(llmRequest, 'GOOGLE_SEARCH', isFirst ? { googleSearchRetrieval: {} } : { googleSearch: {} });
  }
}

/**
 * A tool that reads the web pages whose addresses are in the conversation. Google's service runs it. The pages that it read are in the
 * event's `urlContextMetadata`.
 * @throws ConfigurationError in the run for a model before Gemini 2, and for one that is not Gemini
 */
export class UrlContextTool extends ServiceTool {
  constructor() {
    super({ name: 'url_context', description: 'Reads the web pages that the conversation names.' });
  }

  override processLlmRequest({ llmRequest }: ToolProcessLlmRequest): void {
    addServiceTool(llmRequest, 'URL_CONTEXT', { urlContext: {} }, 2);
  }
}

/**
 * A tool that finds places and routes with Google Maps. Google's service runs it while the model answers.
 * @throws ConfigurationError in the run for a model before Gemini 2, and for one that is not Gemini
 */
export class GoogleMapsGroundingTool extends ServiceTool {
  constructor() {
    super({ name: 'google_maps', description: 'Looks up places in Google Maps.' });
  }

  override processLlmRequest({ llmRequest }: ToolProcessLlmRequest): void {
    addServiceTool(llmRequest, 'GOOGLE_MAPS_GROUNDING', { googleMaps: {} }, 2);
  }
}

/**
 * A tool that searches the web index of Google for enterprises, on Vertex AI only. Google's service runs it while the model
 * answers.
 * @throws ConfigurationError in the run for a model that is not Gemini, and beside other tools with Gemini 1
 */
export class EnterpriseWebSearchTool extends ServiceTool {
  constructor() {
    super({ name: 'enterprise_web_search', description: 'Searches the web, with the controls of Vertex AI.' });
  }

  override processLlmRequest({ llmRequest }: ToolProcessLlmRequest): void {
    addServiceTool(llmRequest, 'ENTERPRISE_WEB_SEARCH', { enterpriseWebSearch: {} });
  }
}

/** A `GoogleSearchTool`. Any number of agents can share it. */
export const GOOGLE_SEARCH: GoogleSearchTool = /* @__PURE__ */ new GoogleSearchTool();
/** A `UrlContextTool`. Any number of agents can share it. */
export const URL_CONTEXT: UrlContextTool = /* @__PURE__ */ new UrlContextTool();
/** A `GoogleMapsGroundingTool`. Any number of agents can share it. */
export const GOOGLE_MAPS_GROUNDING: GoogleMapsGroundingTool = /* @__PURE__ */ new GoogleMapsGroundingTool();
/** An `EnterpriseWebSearchTool`. Any number of agents can share it. */
export const ENTERPRISE_WEB_SEARCH: EnterpriseWebSearchTool = /* @__PURE__ */ new EnterpriseWebSearchTool();
