import { EventloomError } from '@eventloom/core';

/** The request asks to resume a run, which this version cannot do yet; nothing was changed. */
export class ResumeUnsupportedError extends EventloomError {
  static override readonly code = 'RESUME_UNSUPPORTED';
}
