import type { ToolLedgerEntry } from '@eventloom/core';

/**
 * Returns the value that a back end stores as JSON for the response of a tool call: the response object, or a list of the response and its
 * parts; undefined for a call without a response.
 */
export function storedOutcome({ response, parts }: ToolLedgerEntry): object | undefined {
  return response && parts ? [response, parts] : response;
}

/** Reads a value of `storedOutcome`. */
export function readOutcome(stored: unknown): Pick<ToolLedgerEntry, 'response' | 'parts'> {
  // The value comes from this package, which checked it before it was stored.
  if (!Array.isArray(stored)) return { response: stored as ToolLedgerEntry['response'] & {} };
  const [response, parts] = stored as [ToolLedgerEntry['response'] & {}, ToolLedgerEntry['parts'] & {}];
  return { response, parts };
}
