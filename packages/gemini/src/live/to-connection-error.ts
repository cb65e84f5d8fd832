import { LiveConnectionError } from '@eventloom/core';
import { isRetryableStatus, statusCode } from '@eventloom/core/internal';
import type { SocketEnding } from './client-socket.ts';

/** The properties of an ended connection that determine its error. */
interface EndedConnection {
  readonly model: string;
  readonly ending: SocketEnding;
  /** True if the service had accepted the setup. */
  readonly isSetUp: boolean;
  /** True if the setup named a session to resume. */
  readonly hasHandle: boolean;
  /** Removes keys from a text. */
  readonly redact: (text: string) => string;
}

/** Close code of a lost connection, used when the runtime gives no other. */
const ABNORMAL = 1006;
/**
 * Close codes for invalid input: protocol, kind of data, invalid argument, size, extension. The service uses 1008 for a setup that it
 * refuses, but also for a session that became too old, so it counts only before the setup is complete.
 */
const FAULTS: readonly number[] = [1002, 1003, 1007, 1009, 1010];
const REFUSED = 1008;
/** Matches the reasons of refusals that do not concern the session to resume. */
const OTHER_REASONS = /api.?key|permission|credential|auth|quota|billing|model/i;
/** The service's codes of temporary failures, after which another connection may succeed. */
const PASSING: readonly string[] = ['RESOURCE_EXHAUSTED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'];
/**
 * Patterns in close reasons, which have no codes for these cases. All but the first are only used where the request is
 * valid.
 */
const QUOTA = /quota|resource.?exhausted|rate.?limit/i;
const UNAVAILABLE = /unavailable|overloaded|try again/i;
const DEADLINE = /deadline/i;
/**
 * Maximum length of an error message, in characters. Close reasons have at most 123 bytes; failures that a runtime
 * reports may be longer.
 */
const MAX_MESSAGE = 1000;

/** Converts the end of a connection to an error, with the service's message if it sent one. No message contains a key. */
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
