import { errorBody } from '../http/error-body.ts';
import { errorStatus } from '../http/error-response.ts';

/** How a WebSocket is closed. */
export interface LiveClose {
  readonly code: number;
  readonly reason: string;
}

/** The end of a call that nothing is wrong with. */
export const CALL_OVER: LiveClose = { code: 1000, reason: 'the call is over' };

/** Close codes that say more than who is to blame. The first is the ADK's. */
const CODES: Readonly<Record<string, number>> = {
  SESSION_NOT_FOUND: 1002,
  BODY_TOO_LARGE: 1009,
  SHUTTING_DOWN: 1012,
  SERVER_BUSY: 1013,
  SESSION_BUSY: 1013,
  RATE_LIMITED: 1013,
};

/** What fits into the frame, in bytes of UTF-8. (RFC 6455, 5.5.) */
const MAX_REASON_BYTES = 123;

/**
 * How a call is closed that an error ended. 1002: no such session; 1008: the client is refused, or did what it may not; 1009: a frame
 * is too large; 1011: the server or the model failed; 1012: the server restarts; 1013: try again later.
 */
export function liveCloseOf(error: unknown): LiveClose {
  const { error: message, code } = errorBody(error);
  const closeCode = Object.hasOwn(CODES, code) ? CODES[code] : undefined;
  return { code: closeCode ?? (errorStatus(code) < 500 ? 1008 : 1011), reason: cut(`${code}: ${message}`) };
}

function cut(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_REASON_BYTES));
  return text.slice(0, read);
}
