/** What to do about an error of a live model. */
export interface ErrorAdvice {
  /** `stop`: end the call. `retry`: say it again after a while, a few times. `continue`: go on reading. */
  readonly action: 'stop' | 'retry' | 'continue';
  /** True for a code that this version does not know: worth a line in the log. */
  readonly log: boolean;
}

const STOP: ReadonlySet<string> = new Set(['SAFETY', 'PROHIBITED_CONTENT', 'BLOCKLIST', 'MAX_TOKENS', 'CANCELLED']);
const RETRY: ReadonlySet<string> = new Set(['RESOURCE_EXHAUSTED']);
const CONTINUE: ReadonlySet<string> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED']);

/**
 * What whoever reads a live run is to do about the `errorCode` of an event; the run itself goes on. What the model refuses to say
 * and what is used up is not to be tried again; a `retry` wants a wait that grows, and an end.
 */
export function errorAdvice(errorCode: string): ErrorAdvice {
  if (STOP.has(errorCode)) return { action: 'stop', log: false };
  if (RETRY.has(errorCode)) return { action: 'retry', log: false };
  return { action: 'continue', log: !CONTINUE.has(errorCode) };
}
