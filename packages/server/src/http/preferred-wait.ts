import { InvalidRequestError } from '@eventloom/core';
import { quotedName } from './request-body.ts';

/** Maximum wait that a client can request, and the default, in seconds. */
const MAX_WAIT_S = 60;
const DEFAULT_WAIT_S = 30;

/**
 * Reads from the header `Prefer: wait=<seconds>` (RFC 7240) how long a client waits for its run to begin. Other
 * preferences are ignored.
 *
 * @returns seconds, at most 60; 30 if the header has no wait
 * @throws InvalidRequestError for a wait that is not a number of seconds, or is given twice
 */
export function preferredWait(header: string | null): number {
  const waits = (header ?? '')
    .split(',')
    .map((preference) => preference.split(';')[0]?.trim() ?? '')
    .filter((preference) => /^wait(?:\s*=|$)/i.test(preference));
  const [wait] = waits;
  if (wait === undefined) return DEFAULT_WAIT_S;
  const [, seconds] = /^wait\s*=\s*"?([1-9]\d{0,5})"?$/i.exec(wait) ?? [];
  if (seconds === undefined || waits.length > 1)
    throw new InvalidRequestError(`Prefer: expected one wait=<seconds> of at least 1, got ${quotedName(header ?? '')}`);
  return Math.min(Number(seconds), MAX_WAIT_S);
}
