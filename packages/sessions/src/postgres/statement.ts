/**
 * A statement of the driver. Its name identifies its text on every connection, also among the prepared statements of
 * other programs.
 */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** @param text one statement; equal texts have equal names, and different texts different ones */
export function toStatement(text: string): Statement {
  return { name: `eventloom_${hash(text)}`, text };
}

/** Returns FNV-1a hashes of the text with two different offsets. */
function hash(text: string): string {
  let one = 0x811c9dc5;
  let other = 0x01000193;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    one = Math.imul(one ^ unit, 0x01000193);
    other = Math.imul(other ^ unit, 0x01000193) ^ (other >>> 13);
  }
  return [one, other].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}
