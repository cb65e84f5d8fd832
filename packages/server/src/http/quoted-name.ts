const MAX_CHARS = 100;

/** A name for a message, in quotes and cut when it is long: what a request names can be as long as its body. */
export function quotedName(name: string): string {
  return name.length > MAX_CHARS ? `${JSON.stringify(name.slice(0, MAX_CHARS))}…` : JSON.stringify(name);
}
