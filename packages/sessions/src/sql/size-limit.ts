import { SizeLimitError } from '@eventloom/core';

/** Maximum number of UTF-8 bytes for one UTF-16 unit of a string. */
const MOST_BYTES_A_UNIT = 3;
const encoder = new TextEncoder();

/** True if a text has at most `maxBytes` bytes as UTF-8. Encodes the text only if its length is near the limit. */
export function fitsInBytes(text: string, maxBytes: number): boolean {
  if (text.length * MOST_BYTES_A_UNIT <= maxBytes) return true;
  return text.length <= maxBytes && encoder.encode(text).length <= maxBytes;
}

/**
 * Returns the JSON if it is not too large to be stored.
 * @throws SizeLimitError with the kind and the name of the value
 */
export function withinLimit(json: string, maxBytes: number, kind: string, name: string): string {
  if (fitsInBytes(json, maxBytes)) return json;
  const size = json.length > maxBytes ? `more than ${maxBytes}` : encoder.encode(json).length;
  throw new SizeLimitError(
    `${kind} ${JSON.stringify(name)} takes ${size} bytes as JSON, and at most ${maxBytes} can be stored; save large values as artifacts`,
  );
}
