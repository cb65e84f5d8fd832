import type { Event } from '../event/event.ts';
import type { SessionKey } from '../session/session-key.ts';
import { isUserArtifact } from './artifact-name.ts';
import type { BaseArtifactService } from './artifact-service.ts';

/** Returns the last version of each session artifact that the events name, by artifact name. Artifacts of the user are left out. */
export function artifactsOf(events: Iterable<Pick<Event, 'actions'>>): Map<string, number> {
  const artifacts = new Map<string, number>();
  for (const { actions } of events) {
    for (const [filename, version] of Object.entries(actions.artifactDelta))
      if (!isUserArtifact(filename)) artifacts.set(filename, version);
  }
  return artifacts;
}

/**
 * Adds the session's artifacts that no copied event names, because the application saved them. The time at which they
 * were saved is unknown, so the current version is used, or the version before an event that the copy leaves out saved
 * a new one.
 * @param later the first version that such events name, by artifact name
 */
export async function addUnnamedArtifacts(
  service: BaseArtifactService,
  artifacts: Map<string, number>,
  later: ReadonlyMap<string, number>,
  session: SessionKey,
): Promise<void> {
  for (const filename of await service.listArtifactKeys(session))
    if (!isUserArtifact(filename) && !artifacts.has(filename))
      artifacts.set(filename, (later.get(filename) ?? Infinity) - 1);
}

/**
 * Copies all versions of artifacts up to the given ones to a session without artifacts. Versions keep their numbers; a
 * deleted version is replaced by a copy of the next existing one.
 */
export async function copyArtifacts(
  service: BaseArtifactService,
  artifacts: ReadonlyMap<string, number>,
  from: SessionKey,
  to: SessionKey,
): Promise<void> {
  for (const [filename, last] of artifacts) {
    let next = 0;
    for (const version of await service.listVersions({ ...from, filename })) {
      const artifact = version > last ? undefined : await service.loadArtifact({ ...from, filename, version });
      if (!artifact) continue;
      const { customMetadata } = (await service.getArtifactVersion({ ...from, filename, version })) ?? {};
      for (; next <= version; next++) await service.saveArtifact({ ...to, filename, artifact, customMetadata });
    }
  }
}
