/** A list of JSON values as opaque text that is safe in a URL. */
export function encodeCursor(values: readonly unknown[]): string {
  const bytes = new TextEncoder().encode(JSON.stringify(values));
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The list that `encodeCursor` wrote; undefined for any text that it cannot have written. */
export function decodeCursor(cursor: string): readonly unknown[] | undefined {
  try {
    const text = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const values: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return Array.isArray(values) && encodeCursor(values) === cursor ? values : undefined;
  } catch {
    return undefined;
  }
}
