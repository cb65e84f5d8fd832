import type { MCPConnectionParams } from '@eventloom/mcp';
import { type StdioConnectionOptions, StdioConnectionParams } from '@eventloom/mcp/node';

/** Creates the connection to a server that is started as a process. @throws ConfigurationError for invalid params */
export function toStdioParams({ serverParams }: Pick<StdioConnectionOptions, 'serverParams'>): MCPConnectionParams {
  return new StdioConnectionParams({ serverParams });
}
