/** An event of a session, as one text. */
export function toMemoryId(sessionId: string, eventId: string): string {
  return `${encodeURIComponent(sessionId)}/${encodeURIComponent(eventId)}`;
}

/** The session and the event that `toMemoryId` was given; undefined for another text. */
export function parseMemoryId(id: string): { readonly sessionId: string; readonly eventId: string } | undefined {
  const [session, event, ...rest] = id.split('/');
  if (!session || !event || rest.length > 0) return undefined;
  try {
    return { sessionId: decodeURIComponent(session), eventId: decodeURIComponent(event) };
  } catch {
    return undefined;
  }
}
