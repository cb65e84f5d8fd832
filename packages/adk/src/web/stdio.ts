import { ConfigurationError } from '@eventloom/core';
import type { MCPConnectionParams } from '@eventloom/mcp';

/** Takes the place of the function for Node. @throws ConfigurationError always, because other runtimes cannot start processes */
export function toStdioParams(_params: object): MCPConnectionParams {
  throw new ConfigurationError(
    "MCPToolset: StdioConnectionParams needs Node; on Workers write { type: 'StreamableHTTPConnectionParams', url }",
  );
}
