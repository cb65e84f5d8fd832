import { errorBody } from './error-body.ts';
import { errorStatus } from './error-response.ts';

/** The code and the reason that a WebSocket is closed with. */
export interface SocketClose {
  readonly code: number;
  readonly reason: string;
}

/** Close codes for certain errors. The first is the ADK's. */
const CODES: Readonly<Record<string, number>> = {
  SESSION_NOT_FOUND: 1002,
  BODY_TOO_LARGE: 1009,
  SHUTTING_DOWN: 1012,
  SERVER_BUSY: 1013,
  SESSION_BUSY: 1013,
  RATE_LIMITED: 1013,
};

/** The longest reason, in bytes of UTF-8. (RFC 6455, 5.5.) */
const MAX_REASON_BYTES = 123;

/**
 * The close of a live run that an error ended. 1002: no such session; 1008: the client is refused or broke a rule; 1009: a frame
 * is too large; 1011: the server or the model failed; 1012: the server restarts; 1013: try again later.
 */
export function socketCloseOf(error: unknown): SocketClose {
  const { error: message, code } = errorBody(error);
  const closeCode = Object.hasOwn(CODES, code) ? CODES[code] : undefined;
  return { code: closeCode ?? (errorStatus(code) < 500 ? 1008 : 1011), reason: cut(`${code}: ${message}`) };
}

function cut(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_REASON_BYTES));
  return text.slice(0, read);
}
