import { ConfigurationError } from '@eventloom/core';
import type { MCPConnectionParams } from '@eventloom/mcp';

/** @throws ConfigurationError always: outside Node there are no processes */
export function toStdioParams(_params: object): MCPConnectionParams {
  throw new ConfigurationError(
    "MCPToolset: StdioConnectionParams needs Node; on Workers write { type: 'StreamableHTTPConnectionParams', url }",
  );
}
