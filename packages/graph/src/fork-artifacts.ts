import { type BaseArtifactService, ConfigurationError, type Event, type SessionKey } from '@eventloom/core';
import { USER_PREFIX } from '@eventloom/core/internal';

/** Returns the last version of each session artifact that the events name, by artifact name. Artifacts of the user are left out. */
export function artifactsOf(events: readonly Event[]): Map<string, number> {
  const artifacts = new Map<string, number>();
  for (const { actions } of events) {
    for (const [filename, version] of Object.entries(actions.artifactDelta))
      if (!filename.startsWith(USER_PREFIX)) artifacts.set(filename, version);
  }
  return artifacts;
}

/**
 * Adds the session's artifacts that no kept event names, because the application saved them. The time at which they were saved is unknown,
 * so the current version is used, or the version before an event that the fork leaves out saved a new one.
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

/** @throws ConfigurationError if there are artifacts to copy and no service */
export function checkCopied(artifacts: ReadonlyMap<string, number>, service: BaseArtifactService | undefined): void {
  const [filename] = artifacts.keys();
  if (filename !== undefined && !service)
    throw new ConfigurationError(
      `fork: the session saved ${JSON.stringify(filename)} before this step; pass the artifactService that stores it`,
    );
}

/**
 * Copies all versions of artifacts up to the given ones to a session without artifacts. Versions keep their numbers; a deleted version is replaced by
 * a copy of the next existing one.
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
