import { type GetSessionConfig, InvalidRequestError } from '@eventloom/core';
import type { EventWindow } from './session-driver.ts';

/** Every event of a session. */
export const ALL_EVENTS: EventWindow = {
  afterSeq: 0,
  beforeSeq: undefined,
  sinceCompaction: false,
  afterTimestamp: undefined,
  limit: undefined,
};

/** Converts the options of a read to a window. @throws InvalidRequestError for invalid numbers */
export function toEventWindow(config: GetSessionConfig | undefined): EventWindow {
  if (!config) return ALL_EVENTS;
  const { numRecentEvents, afterTimestamp, afterSeq = 0, beforeSeq, sinceCompaction = false } = config;
  if (numRecentEvents !== undefined) checkCount('numRecentEvents', numRecentEvents);
  checkCount('afterSeq', afterSeq);
  if (beforeSeq !== undefined) checkCount('beforeSeq', beforeSeq);
  if (typeof sinceCompaction !== 'boolean')
    throw new InvalidRequestError('config.sinceCompaction: must be true or false');
  if (afterTimestamp !== undefined && !Number.isFinite(afterTimestamp)) {
    throw new InvalidRequestError('config.afterTimestamp: must be a number of seconds');
  }
  return { afterSeq, beforeSeq, sinceCompaction, afterTimestamp, limit: numRecentEvents };
}

function checkCount(field: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new InvalidRequestError(`config.${field}: must be zero or a positive integer`);
}
