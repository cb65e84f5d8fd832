/** Advice about an error of a live run. */
export interface ErrorAdvice {
  /** `stop`: end the call. `retry`: try again after a while, a few times. `continue`: keep reading. */
  readonly action: 'stop' | 'retry' | 'continue';
  /** True if the program should log the error: an unknown code, or a fault in code or configuration. */
  readonly log: boolean;
}

const STOP: ReadonlySet<string> = new Set([
  'SAFETY',
  'PROHIBITED_CONTENT',
  'BLOCKLIST',
  'MAX_TOKENS',
  'CANCELLED',
  'LIVE_CONNECTION',
  'SESSION_TIME_LIMIT',
  'LLM_CALL_LIMIT',
  'HAND_OVER_LIMIT',
]);
/** Codes that end the run and need a fix in code or configuration. */
const STOP_AND_LOG: ReadonlySet<string> = new Set([
  'AGENT',
  'CONFIGURATION',
  'INVALID_EVENT',
  'MISSING_STATE_KEY',
  'STATE_KEY',
  'STATE_VALUE',
  'SIZE_LIMIT',
]);
const RETRY: ReadonlySet<string> = new Set(['RESOURCE_EXHAUSTED']);
const CONTINUE: ReadonlySet<string> = new Set([
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'INVALID_MESSAGE',
  'INVALID_REQUEST',
]);

/**
 * Advises the reader of a live run about the `errorCode` of an event. Refusals of the model and exhausted limits should
 * not be retried; a `retry` needs growing delays and an end. The run continues after an error of the model or of a
 * client's request. It has ended, with the error as its last event, where the runtime itself gives up: `stop`. The
 * other codes can be the last event of a run as well, when the service ends or refuses its connections with them:
 * `retry` then means a new call after a while.
 */
export function errorAdvice(errorCode: string): ErrorAdvice {
  if (STOP.has(errorCode)) return { action: 'stop', log: false };
  if (STOP_AND_LOG.has(errorCode)) return { action: 'stop', log: true };
  if (RETRY.has(errorCode)) return { action: 'retry', log: false };
  return { action: 'continue', log: !CONTINUE.has(errorCode) };
}
