/** Returns the signed word of 32 bits that eight hexadecimal digits of a text stand for. */
export function wordAt(digits: string, from: number): number {
  return Number.parseInt(digits.slice(from, from + 8), 16) | 0;
}

/** Returns the eight hexadecimal digits of a word of 32 bits. */
export function hexOf(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
