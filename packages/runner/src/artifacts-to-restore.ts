import { ARTIFACTS_TO_RESTORE } from '@eventloom/core';

/** Names of artifacts, with the version that each is to have the content of again; null for one that is to be gone. */
export type ArtifactsToRestore = ReadonlyMap<string, number | null>;

const NOTHING: ArtifactsToRestore = new Map();

/** What a rewind left to do, from a session's state or from what its event wrote to it. Empty for nothing. */
export function artifactsToRestore(state: Readonly<Record<string, unknown>>): ArtifactsToRestore {
  const listed = Object.hasOwn(state, ARTIFACTS_TO_RESTORE) ? state[ARTIFACTS_TO_RESTORE] : undefined;
  if (typeof listed !== 'object' || listed === null) return NOTHING;
  const found = new Map<string, number | null>();
  // State can be written by anybody.
  for (const [filename, version] of Object.entries(listed)) {
    if (filename.startsWith('user:')) continue;
    if (version === null || (Number.isInteger(version) && Number(version) >= 0)) found.set(filename, version as number);
  }
  return found;
}
