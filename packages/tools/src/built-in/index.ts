// Tools with the names of the ADK: those that Google's service runs, and those that this process runs.

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
} from './search-tools.ts';
export type {
  VertexAISearchConfig,
  VertexAISearchDataStoreSpec,
  VertexAiSearchToolParams,
  VertexRagStore,
} from './vertex-tools.ts';
export { VertexAiSearchTool, VertexRagRetrievalTool } from './vertex-tools.ts';

// Tools that this process runs
export { AddressRefusedError } from '../errors.ts';
export type { Example } from './example-tool.ts';
export { BaseExampleProvider, ExampleTool, isBaseExampleProvider } from './example-tool.ts';
export { LOAD_ARTIFACTS, LoadArtifactsTool } from './load-artifacts-tool.ts';
export type { LoadWebPageOptions } from './load-web-page.ts';
export { LOAD_WEB_PAGE, loadWebPage } from './load-web-page.ts';

// Computers
export type { ComputerState, ScreenPoint, ScrollDirection } from '../computer-use/base-computer.ts';
export { BaseComputer } from '../computer-use/base-computer.ts';
export type { ComputerUseToolsetOptions } from '../computer-use/computer-use-toolset.ts';
export { ComputerUseToolset } from '../computer-use/computer-use-toolset.ts';
export type {
  PlaywrightBrowser,
  PlaywrightComputerOptions,
  PlaywrightPage,
  PlaywrightRoute,
} from '../computer-use/playwright-computer.ts';
export { PlaywrightComputer } from '../computer-use/playwright-computer.ts';
