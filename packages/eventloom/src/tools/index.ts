// Tools under the names of the ADK: those that Google's service runs, and those that run here.

// Tools of Google's service
export {
  ENTERPRISE_WEB_SEARCH,
  EnterpriseWebSearchTool,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  GoogleMapsGroundingTool,
  GoogleSearchTool,
  URL_CONTEXT,
  UrlContextTool,
  VertexAiSearchTool,
  VertexRagRetrievalTool,
} from '@eventloom/tools/built-in';
export type {
  VertexAISearchConfig,
  VertexAISearchDataStoreSpec,
  VertexAiSearchToolParams,
  VertexRagStore,
} from '@eventloom/tools/built-in';
export { createGoogleSearchAgent, GoogleSearchAgentTool } from '@eventloom/llm-agent/built-in';

// Tools that run here
export {
  AddressRefusedError,
  BaseExampleProvider,
  ExampleTool,
  isBaseExampleProvider,
  LOAD_ARTIFACTS,
  LOAD_WEB_PAGE,
  LoadArtifactsTool,
  loadWebPage,
} from '@eventloom/tools/built-in';
export type { Example, LoadWebPageOptions } from '@eventloom/tools/built-in';

// Computers
export { BaseComputer, ComputerUseToolset, PlaywrightComputer } from '@eventloom/tools/built-in';
export type {
  ComputerState,
  ComputerUseToolsetOptions,
  PlaywrightBrowser,
  PlaywrightComputerOptions,
  PlaywrightPage,
  PlaywrightRoute,
  ScreenPoint,
  ScrollDirection,
} from '@eventloom/tools/built-in';
