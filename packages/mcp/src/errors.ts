import { EventloomError } from '@eventloom/core';

/**
 * The MCP server cannot be reached, refused the connection, did not answer in time, or ended the connection. Retryable. If it happened
 * during a call, the call may or may not have had its effect; the message says so.
 */
export class MCPConnectionError extends EventloomError {
  static override readonly code = 'MCP_CONNECTION';
  static override readonly retryable = true;
}

/** The MCP server answered a request with an error of the protocol, or with a message that is not one of the protocol. Not retryable. */
export class MCPProtocolError extends EventloomError {
  static override readonly code = 'MCP_PROTOCOL';
}

/** The MCP server sent more than the toolset accepts: too many tools, or a message or a result that is too large. Not retryable. */
export class MCPLimitError extends EventloomError {
  static override readonly code = 'MCP_LIMIT';
}

/**
 * A tool of the MCP server is not offered, because its name or its input schema cannot be used. Reported to the
 * platform; the other tools are offered.
 */
export class MCPToolRefusedError extends EventloomError {
  static override readonly code = 'MCP_TOOL_REFUSED';
}

/**
 * The MCP server requires the user's authorization: the user has to consent, or the consent was not accepted. A toolset
 * with `authCredential` asks for it with a request for a credential. Not retryable.
 */
export class MCPAuthorizationError extends EventloomError {
  static override readonly code = 'MCP_AUTHORIZATION';
}
