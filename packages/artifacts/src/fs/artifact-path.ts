import { join } from 'node:path';
import type { ArtifactOwner, ArtifactPlace } from '../artifact-driver.ts';

/** File systems take 255 bytes in one name; a longer one goes on in a folder below. */
const MAX_SEGMENT = 200;
/** Ends a folder name that goes on below. No encoded name has it. */
const CONTINUED = '+';

/**
 * The folder of an owner's artifacts. Every name is percent-encoded into segments of its own, so none can climb out of the root
 * or meet another: a slash in a name is `%2F`, and no segment is `.` or `..`.
 */
export function ownerPath(rootDir: string, { appName, userId, sessionId }: ArtifactOwner): string {
  const user = join(rootDir, ...encodeName(appName), 'users', ...encodeName(userId));
  return join(user, ...(sessionId === undefined ? [] : ['sessions', ...encodeName(sessionId)]), 'artifacts');
}

/** The folder of an artifact's versions. */
export function artifactPath(rootDir: string, place: ArtifactPlace): string {
  return join(ownerPath(rootDir, place), ...encodeName(place.name));
}

/** True for a folder whose name goes on in the folders below it. */
export function isContinued(segment: string): boolean {
  return segment.endsWith(CONTINUED);
}

/** The name that was encoded into these segments. */
export function decodeName(segments: readonly string[]): string {
  const encoded = segments.map((segment) => (isContinued(segment) ? segment.slice(0, -1) : segment)).join('');
  return decodeURIComponent(encoded.replaceAll(/!([a-z])/g, (_, letter: string) => letter.toUpperCase()));
}

/** `A` is `!a`, so that names which differ in case only stay apart where the file system does not tell them. */
function encodeName(name: string): string[] {
  const encoded = encodeURIComponent(name)
    .replaceAll(/[!'()*~]|^\.|\.$/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
    .replaceAll(/%..|[A-Z]/g, (match) => (match.startsWith('%') ? match.toLowerCase() : `!${match.toLowerCase()}`));
  const segments: string[] = [];
  for (let start = 0; start < encoded.length; start += MAX_SEGMENT) {
    const end = start + MAX_SEGMENT;
    segments.push(encoded.slice(start, end) + (end < encoded.length ? CONTINUED : ''));
  }
  return segments;
}
