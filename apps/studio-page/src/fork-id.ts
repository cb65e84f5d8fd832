/** Returns the origin of a copy for a person, from the id that the server gives to copies; undefined for the id of another session. */
export function originOf(sessionId: string): string | undefined {
  const [, origin = '', position] = /^fork-(.+)-at-(\d+)-\w+$/.exec(sessionId) ?? [];
  if (position === undefined) return undefined;
  return `fork of ${origin.startsWith('fork-') ? 'another fork' : origin}, event ${position}`;
}
