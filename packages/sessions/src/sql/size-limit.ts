import { SizeLimitError } from '@eventloom/core';

/** UTF-8 needs at most so many bytes for a unit of a string's length. */
const MOST_BYTES_A_UNIT = 3;
const encoder = new TextEncoder();

/**
 * The JSON of something that is to be stored, when it is not too large. Costs nothing that grows until a text comes near the limit.
 * @throws SizeLimitError that says what is too large: its kind and its name
 */
export function withinLimit(json: string, maxBytes: number, kind: string, name: string): string {
  if (json.length * MOST_BYTES_A_UNIT <= maxBytes) return json;
  const bytes = json.length > maxBytes ? json.length : encoder.encode(json).length;
  if (bytes <= maxBytes) return json;
  const size = json.length > maxBytes ? `more than ${maxBytes}` : bytes;
  throw new SizeLimitError(
    `${kind} ${JSON.stringify(name)} takes ${size} bytes as JSON, and at most ${maxBytes} can be stored; save what is large as an artifact`,
  );
}
