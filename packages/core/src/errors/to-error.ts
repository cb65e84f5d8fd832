/** What was thrown, as an Error: user code may throw anything, also what has no text. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  let text = 'not an error';
  try {
    text = String(thrown);
  } catch {
    // An object without a prototype, say.
  }
  return new Error(text, { cause: thrown });
}
