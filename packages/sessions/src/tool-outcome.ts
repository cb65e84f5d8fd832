import type { ToolLedgerEntry } from '@eventloom/core';

/**
 * The value that a back end stores as JSON for the response of a tool call: the response, which is an object, or a list of it and its parts.
 * Undefined for a call without a response.
 */
export function storedOutcome({ response, parts }: ToolLedgerEntry): object | undefined {
  return response && parts ? [response, parts] : response;
}

/** Reads the value that `storedOutcome` gave. */
export function readOutcome(stored: unknown): Pick<ToolLedgerEntry, 'response' | 'parts'> {
  // The value is this package's own, checked before it was stored.
  if (!Array.isArray(stored)) return { response: stored as ToolLedgerEntry['response'] & {} };
  const [response, parts] = stored as [ToolLedgerEntry['response'] & {}, ToolLedgerEntry['parts'] & {}];
  return { response, parts };
}
