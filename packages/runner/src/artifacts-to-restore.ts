/**
 * The state key under which a rewind leaves what is still to be done to the session's artifacts. It is written with the event of the
 * rewind and removed when all is done, so that whoever takes the session next sees it, whatever they read of its events.
 */
export const ARTIFACTS_TO_RESTORE = 'eventloom.artifactsToRestore';

/** Names of artifacts, with the version that each is to have the content of again; null for one that is to be gone. */
export type ArtifactsToRestore = ReadonlyMap<string, number | null>;

/** True when a rewind left something to do. */
export function hasArtifactsToRestore(state: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(state, ARTIFACTS_TO_RESTORE);
}

const NOTHING: ArtifactsToRestore = new Map();

/** What a rewind left to do, from a session's state or from what its event wrote to it. Empty for nothing. */
export function artifactsToRestore(state: Readonly<Record<string, unknown>>): ArtifactsToRestore {
  if (!hasArtifactsToRestore(state)) return NOTHING;
  const listed = state[ARTIFACTS_TO_RESTORE];
  if (typeof listed !== 'object' || listed === null) return NOTHING;
  const found = new Map<string, number | null>();
  // State can be written by anybody.
  for (const [filename, version] of Object.entries(listed)) {
    if (filename.startsWith('user:')) continue;
    if (version === null || (Number.isInteger(version) && Number(version) >= 0)) found.set(filename, version as number);
  }
  return found;
}
