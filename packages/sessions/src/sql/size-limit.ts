import { SizeLimitError } from '@eventloom/core';

/** UTF-8 needs at most so many bytes for a unit of a string's length. */
const MOST_BYTES_A_UNIT = 3;
const encoder = new TextEncoder();

/** True when a text takes no more as UTF-8. Costs nothing that grows until it comes near the limit. */
export function isWithin(text: string, maxBytes: number): boolean {
  if (text.length * MOST_BYTES_A_UNIT <= maxBytes) return true;
  return text.length <= maxBytes && encoder.encode(text).length <= maxBytes;
}

/**
 * The JSON of something that is to be stored, when it is not too large.
 * @throws SizeLimitError that says what is too large: its kind and its name
 */
export function withinLimit(json: string, maxBytes: number, kind: string, name: string): string {
  if (isWithin(json, maxBytes)) return json;
  const size = json.length > maxBytes ? `more than ${maxBytes}` : encoder.encode(json).length;
  throw new SizeLimitError(
    `${kind} ${JSON.stringify(name)} takes ${size} bytes as JSON, and at most ${maxBytes} can be stored; save what is large as an artifact`,
  );
}
