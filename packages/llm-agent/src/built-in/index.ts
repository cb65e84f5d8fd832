// Google Search in an agent of its own
export { createGoogleSearchAgent, GoogleSearchAgentTool } from './google-search-agent-tool.ts';
