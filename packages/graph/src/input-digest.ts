import type { JsonValue } from '@eventloom/core';

/** Tells inputs apart: 64 bits (FNV-1a, from both ends) of the JSON, whatever the order of its keys, which storage may change. */
export function inputDigest(input: JsonValue): string {
  const text = JSON.stringify(input, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
  let forth = 0x811c9dc5;
  let back = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    forth = Math.imul(forth ^ text.charCodeAt(at), 0x01000193);
    back = Math.imul(back ^ text.charCodeAt(text.length - 1 - at), 0x01000193);
  }
  return [forth, back].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}
