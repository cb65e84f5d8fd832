/** Length of the origin's id in the id of a fork, in characters. */
const ORIGIN_CHARS = 16;

/**
 * Returns an id for a copy of a session, which says where the copy comes from.
 * @param position number of the last event that is copied
 * @param suffix text that makes the id unique
 */
export function forkId(origin: string, position: number, suffix: string): string {
  return `fork-${origin.slice(0, ORIGIN_CHARS)}-at-${position}-${suffix}`;
}

/** Returns the origin of a copy for a person; undefined for the id of another session. */
export function originOf(sessionId: string): string | undefined {
  const [, origin, position] = /^fork-(.+)-at-(\d+)-\w+$/.exec(sessionId) ?? [];
  return origin === undefined ? undefined : `fork of ${origin}, event ${position}`;
}
