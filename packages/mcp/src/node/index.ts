// MCP servers as processes of this machine.

export type { StdioConnectionOptions, StdioServerParameters } from './stdio-connection-params.ts';
export { StdioConnectionParams } from './stdio-connection-params.ts';
