/** What to do about an error of a live run. */
export interface ErrorAdvice {
  /** `stop`: end the call. `retry`: say it again after a while, a few times. `continue`: go on reading. */
  readonly action: 'stop' | 'retry' | 'continue';
  /** True for what is worth a line in the log: a code that this version does not know, and a fault of what it runs on. */
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
 * What whoever reads a live run is to do about the `errorCode` of an event. What the model refuses to say and what is used up is not to be
 * tried again; a `retry` wants a wait that grows, and an end. After an error of the model, or of what the client said, the run goes on;
 * it is over, and its last event this error, for what the runtime itself gives up at: `stop`. The same codes may also be the last event of a
 * run, when the service ends or refuses its connections with them: `retry` is then a call of its own, after a while.
 */
export function errorAdvice(errorCode: string): ErrorAdvice {
  if (STOP.has(errorCode)) return { action: 'stop', log: false };
  if (STOP_AND_LOG.has(errorCode)) return { action: 'stop', log: true };
  if (RETRY.has(errorCode)) return { action: 'retry', log: false };
  return { action: 'continue', log: !CONTINUE.has(errorCode) };
}
