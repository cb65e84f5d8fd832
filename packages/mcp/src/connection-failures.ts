import {
  InsufficientScopeError,
  OAuthClientFlowError,
  OAuthError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { EventloomError, toError } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import type { MCPConnectionParams, OpenTransport } from './connection-params.ts';
import { MCPAuthorizationError, MCPConnectionError, MCPLimitError, MCPProtocolError } from './errors.ts';

/** Maximum length of the server's message that an error quotes, in characters. */
const MAX_QUOTED = 500;

/** The connection that an error is about. */
interface FailedConnection {
  readonly name: string;
  readonly params: Pick<MCPConnectionParams, 'address'>;
}

/** The request that an error is about. */
interface FailedRequest {
  /** True if sending the request twice has the same effect as sending it once. */
  readonly isRepeatable: boolean;
}

/**
 * Returns the error for a failed request, or without options for a connection that could not be opened. The message says what happened, and
 * whether a call may have had its effect.
 */
export function toMCPError(error: unknown, { name, params }: FailedConnection, options?: FailedRequest): Error {
  const server = `MCP server "${name}"`;
  if (MCPLimitError.isInstance(error)) return new MCPLimitError(`${server}: ${error.message}`, { cause: error });
  if (EventloomError.isInstance(error)) return error;
  const publicMessage = `${server} is unavailable`;
  if (UnauthorizedError.isInstance(error) || InsufficientScopeError.isInstance(error))
    return new MCPAuthorizationError(`${server}: requires the user's authorization`, { cause: error, publicMessage });
  if (OAuthError.isInstance(error) || OAuthClientFlowError.isInstance(error))
    return new MCPAuthorizationError(`${server}: its authorization server cannot be used: ${quoted(error.message)}`, {
      cause: error,
      publicMessage,
    });
  if (ProtocolError.isInstance(error)) {
    const said = quoted(error.message);
    return new MCPProtocolError(`${server}: error ${error.code}: ${said}`, { cause: error });
  }
  const isAmbiguous = options !== undefined && !options.isRepeatable;
  const after = isAmbiguous ? '; the call may or may not have had its effect' : '';
  if (SdkHttpError.isInstance(error)) {
    const { status } = error;
    const Type = errorOf(status);
    // A gateway answers with these statuses for a server that may have begun the call.
    const effect = status >= 500 ? after : '';
    const advice = options ? effect : adviceFor(status);
    return new Type(`${server}: ${params.address} answered with HTTP status ${status}${advice}`, {
      cause: error,
      publicMessage,
    });
  }
  if (error instanceof Error && isMalformed(error))
    return new MCPProtocolError(`${server}: sent a message that is not one of the protocol`, { cause: error });
  if (SdkError.isInstance(error) && !isConnectionBroken(error)) {
    if (error.code === SdkErrorCode.RequestTimeout)
      return new MCPConnectionError(`${server}: did not answer in time${options ? after : silenceAdvice(params)}`, {
        cause: error,
        publicMessage,
      });
    return new MCPProtocolError(`${server}: ${quoted(error.message)}`, { cause: error });
  }
  const reason = reasonOf(error);
  const text = options ? `the connection broke: ${reason}${after}` : cannotConnect(params.address, reason);
  return new MCPConnectionError(`${server}: ${text}`, { cause: error, publicMessage });
}

function errorOf(status: number): typeof MCPConnectionError | typeof MCPProtocolError | typeof MCPAuthorizationError {
  if (status === 401) return MCPAuthorizationError;
  return status >= 500 || status === 429 || status === 404 ? MCPConnectionError : MCPProtocolError;
}

function adviceFor(status: number): string {
  if (status === 401)
    return "; write headers: { authorization: 'Bearer …' } in the connectionParams, or authCredential for the consent of each user";
  if (status === 404) return '; check the path of its url, which often ends in /mcp';
  return status === 403 ? '; check what the key or the token in headers may do' : '';
}

/**
 * True if the server no longer knows the session of a request. The specification requires 404; some servers answer 400. In both cases the
 * server did not process the request.
 */
export function isSessionForgotten(error: unknown, { transport }: { readonly transport: OpenTransport }): boolean {
  if (!SdkHttpError.isInstance(error) || !('sessionId' in transport.transport)) return false;
  if (transport.transport.sessionId === undefined) return false;
  return (
    error.status === 404 || (error.status === 400 && /session/i.test(String(error.data['text']).slice(0, MAX_QUOTED)))
  );
}

export function isConnectionBroken(error: unknown): boolean {
  if (SdkError.isInstance(error))
    return error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected;
  if (EventloomError.isInstance(error) || ProtocolError.isInstance(error)) return false;
  if (UnauthorizedError.isInstance(error) || OAuthError.isInstance(error)) return false;
  if (OAuthClientFlowError.isInstance(error)) return false;
  return error instanceof Error && !isMalformed(error);
}

/** True if the other side closed the socket of a request: the client library wraps the reason. */
export function isSocketLost(error: unknown): boolean {
  let reason = error;
  for (let depth = 0; depth < 5 && isRecord(reason); depth++) {
    if (LOST_SOCKET.has(reason['code'])) return true;
    reason = reason['cause'];
  }
  return false;
}

const LOST_SOCKET: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** True if the server sent a message that is not JSON, or not one of the protocol. */
function isMalformed(error: Error): boolean {
  return error instanceof SyntaxError || error.name.endsWith('ZodError');
}

/** Returns the beginning of a server's text, on one line. */
function quoted(text: string): string {
  const line = text
    .slice(0, MAX_QUOTED)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return text.length > MAX_QUOTED ? `${line}…` : line;
}

/** The advice for frequent failures to connect, by their codes. */
const CONNECT_ADVICE: Readonly<Record<string, string>> = {
  ENOENT: 'no such program or folder; install the program, or write its whole path as serverParams.command',
  EACCES: 'the file cannot be run; write the program that runs it, such as node, as serverParams.command',
  ECONNREFUSED: 'nothing listens there; start the server, or correct the url',
  ENOTFOUND: 'there is no such host; correct the url',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS; begin the url with http://',
};

/** Returns the advice for a server that did not answer while the connection was opened. */
function silenceAdvice(params: FailedConnection['params']): string {
  const advice = '; raise timeoutMs if it starts slowly';
  return 'serverParams' in params
    ? `${advice}, write env in serverParams if it needs more of the environment, or stderr: 'inherit' to see what it writes`
    : advice;
}

function cannotConnect(address: string, reason: string): string {
  const advice = CONNECT_ADVICE[reason];
  return `cannot connect to ${address}: ${reason}${advice === undefined ? '' : `: ${advice}`}`;
}

/** Returns the code of a failed connection, such as ECONNREFUSED, or the beginning of the message. */
function reasonOf(error: unknown): string {
  const { cause, message } = toError(error);
  if (isRecord(cause) && typeof cause['code'] === 'string') return cause['code'];
  if (isRecord(error) && typeof error['code'] === 'string' && !SdkError.isInstance(error)) return error['code'];
  // The message of `fetch` is always `fetch failed`; the reason is in its cause.
  return cause instanceof Error && message === 'fetch failed'
    ? quoted(`${message}: ${cause.message}`)
    : quoted(message);
}
