import { LiveConnectionError } from '@eventloom/core';
import { isRetryableStatus, statusCode } from '@eventloom/core/internal';
import type { SocketEnding } from './client-socket.ts';

/** A connection that ended, as far as its error depends on it. */
export interface EndedConnection {
  readonly model: string;
  readonly ending: SocketEnding;
  /** True if the service had accepted the setup. */
  readonly isSetUp: boolean;
  /** True if the setup named a session to resume. */
  readonly hasHandle: boolean;
  /** Takes keys out of a text. */
  readonly redact: (text: string) => string;
}

/** The network died, or the runtime says no more. */
const ABNORMAL = 1006;
/**
 * Codes that say that what was sent is at fault: protocol, kind of data, invalid argument, size, extension. 1008 is the service's for a
 * setup that it refuses, but also for a session that became too old, so it is one of them only before the setup is complete.
 */
const FAULTS: readonly number[] = [1002, 1003, 1007, 1009, 1010];
const REFUSED = 1008;
/** Refusals that are about other things than the session that was to be resumed. */
const OTHER_REASONS = /api.?key|permission|credential|auth|quota|billing|model/i;
/** The service's codes for what passes by itself. Whatever else ends a connection is an end of that connection. */
const PASSING: readonly string[] = ['RESOURCE_EXHAUSTED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'];
/**
 * Patterns in close reasons, which have no codes for these cases. All but the first are only used where the request is
 * valid.
 */
const QUOTA = /quota|resource.?exhausted|rate.?limit/i;
const UNAVAILABLE = /unavailable|overloaded|try again/i;
const DEADLINE = /deadline/i;
/** Reasons are at most 123 bytes; what a runtime says may be long. */
const MAX_MESSAGE = 1000;

/** A connection's end as an error, in the service's own words where it said any. No message holds a key. */
export function toConnectionError({ model, ending, isSetUp, hasHandle, redact }: EndedConnection): LiveConnectionError {
  const { reason, failure } = ending;
  const closeCode = ending.code ?? ABNORMAL;
  const status = Number(/Unexpected server response: (\d{3})/.exec(failure ?? '')?.[1] ?? Number.NaN);
  const code = ending.status ?? (Number.isNaN(status) ? undefined : statusCode(status));
  const isPassing = code !== undefined && PASSING.includes(code);
  const isFault = !isPassing && (FAULTS.includes(closeCode) || (!isSetUp && closeCode === REFUSED));
  const said = reason?.trim() ? reason.trim() : failure;
  const state = isSetUp ? 'ended' : 'could not be made';
  const message = said === undefined || said === '' ? `close code ${closeCode}` : said;
  return new LiveConnectionError(
    redact(`model "${model}": the live connection ${state}: ${message}`).slice(0, MAX_MESSAGE),
    {
      closeCode,
      isRetryable: !isFault && (Number.isNaN(status) || isRetryableStatus(status)),
      isHandleRefused: !isSetUp && hasHandle && isFault && !OTHER_REASONS.test(message),
      errorCode: isPassing ? code : codeIn(reason ?? '', isFault),
    },
  );
}

/** Returns the service's error code for a close reason, or undefined if the reason matches none. */
function codeIn(reason: string, isFault: boolean): string | undefined {
  if (QUOTA.test(reason)) return 'RESOURCE_EXHAUSTED';
  if (isFault) return undefined;
  if (UNAVAILABLE.test(reason)) return 'UNAVAILABLE';
  return DEADLINE.test(reason) ? 'DEADLINE_EXCEEDED' : undefined;
}
