import { ConfigurationError } from '@eventloom/core';
import type { MCPConnectionParams } from '@eventloom/mcp';

/** Throws: outside Node there are no processes. @throws ConfigurationError */
export function toStdioParams(_params: object): MCPConnectionParams {
  throw new ConfigurationError(
    "MCPToolset: StdioConnectionParams needs Node; on Workers write { type: 'StreamableHTTPConnectionParams', url }",
  );
}
