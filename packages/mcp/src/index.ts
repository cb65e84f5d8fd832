// Tools, resources and prompts of MCP servers.

export type { MCPToolsetOptions } from './mcp-toolset.ts';
export { MCPToolset } from './mcp-toolset.ts';

// How a server is reached
export type {
  MCPConnectionOptions,
  OpenTransport,
  StreamableHTTPConnectionOptions,
  TransportHost,
} from './connection-params.ts';
export { MCPConnectionParams, StreamableHTTPConnectionParams } from './connection-params.ts';

// Tools of servers
export type { MCPToolAnnotations } from './server-tools.ts';
export type { MCPToolParams } from './mcp-tool.ts';
export { isMCPTool, MCPTool } from './mcp-tool.ts';

// Requests of servers
export type { AnswerQuestion, MCPAnswer, MCPQuestion } from './elicitation.ts';

// Errors
export {
  MCPAuthorizationError,
  MCPConnectionError,
  MCPLimitError,
  MCPProtocolError,
  MCPToolRefusedError,
} from './errors.ts';
