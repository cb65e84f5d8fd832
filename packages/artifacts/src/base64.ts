const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** How many low bits of the last character hold no data, by the length's remainder of 4. */
const UNUSED_BITS: Readonly<Record<number, number>> = { 2: 4, 3: 2 };

/**
 * The same bytes as standard base64 with padding. Takes both alphabets, padding or none, and white space.
 * Undefined when the text is no base64.
 */
export function toStandardBase64(text: string): string | undefined {
  const standard = text.replaceAll('-', '+').replaceAll('_', '/').replaceAll(/\s+/g, '');
  const end = standard.indexOf('=');
  const digits = end === -1 ? standard : standard.slice(0, end);
  const remainder = digits.length % 4;
  const padding = '='.repeat((4 - remainder) % 4);
  if (remainder === 1 || !/^[A-Za-z0-9+/]*$/.test(digits)) return undefined;
  if (end !== -1 && standard.slice(end) !== padding) return undefined;
  const unused = UNUSED_BITS[remainder];
  if (unused === undefined) return digits;
  const last = ALPHABET.indexOf(digits.slice(-1));
  return digits.slice(0, -1) + ALPHABET.charAt((last >> unused) << unused) + padding;
}
