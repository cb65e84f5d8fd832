import { type BaseArtifactService, ConfigurationError, type Event, type SessionKey } from '@eventloom/core';
import { USER_PREFIX } from '@eventloom/core/internal';

/** The artifacts of a session as events left them: the last version of each, by its name. Those of the user are left out. */
export function artifactsOf(events: readonly Event[]): Map<string, number> {
  const artifacts = new Map<string, number>();
  for (const { actions } of events) {
    for (const [filename, version] of Object.entries(actions.artifactDelta))
      if (!filename.startsWith(USER_PREFIX)) artifacts.set(filename, version);
  }
  return artifacts;
}

/**
 * Adds what the session has that none of the events names which are kept, because an app saved it itself: as it is now, or as it was before
 * the events that are left out saved it, because when it was saved nobody knows.
 */
export async function addUnnamed(
  service: BaseArtifactService,
  artifacts: Map<string, number>,
  leftOut: readonly Event[],
  session: SessionKey,
): Promise<void> {
  const later = artifactsOf([...leftOut].reverse());
  for (const filename of await service.listArtifactKeys(session))
    if (!filename.startsWith(USER_PREFIX) && !artifacts.has(filename))
      artifacts.set(filename, (later.get(filename) ?? Infinity) - 1);
}

/** @throws ConfigurationError when there are artifacts to copy and nothing to copy them with */
export function checkCopied(artifacts: ReadonlyMap<string, number>, service: BaseArtifactService | undefined): void {
  const [filename] = artifacts.keys();
  if (filename !== undefined && !service)
    throw new ConfigurationError(
      `fork: the session saved ${JSON.stringify(filename)} before this step; give the artifactService that has it`,
    );
}

/**
 * Copies the versions of artifacts up to these to a session that has none. They keep their numbers: one that was deleted is there as the
 * next that was not.
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
