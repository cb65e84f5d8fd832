import {
  ARTIFACTS_TO_RESTORE,
  type BaseArtifactService,
  ConfigurationError,
  createEvent,
  type Event,
  InvalidRequestError,
  type Session,
  type SessionKey,
  sessionKeyOf,
  type SessionLease,
  setOwn,
} from '@eventloom/core';
import { afterCovered } from '@eventloom/core/internal';
import { type ArtifactsToRestore, artifactsToRestore } from './artifacts-to-restore.ts';
import type { Runner } from './runner.ts';

/** A session that is held, and how its next event is dated. */
export interface RestoreRequest {
  readonly session: Session;
  readonly lease: SessionLease;
  /** The time up to which compactions cover the session, seconds. */
  readonly coveredUntil: number;
  /** The invocation that the event is part of. Default: one of its own. */
  readonly invocationId?: string | undefined;
}

/**
 * Does to a session's artifacts what a rewind left to do, and appends an event that names the new versions and says that it is done.
 * Cut off anywhere and done again, it leads to the same contents. The lease is checked before each write: who lost it writes no more.
 * An artifact that was deleted meanwhile stays so.
 * @throws ConfigurationError without an artifact service @throws StaleWriterError what the services throw
 */
export async function restoreArtifacts(runner: Runner, request: RestoreRequest): Promise<Event | undefined> {
  const { sessionService, artifactService, platform } = runner;
  const { session, lease, coveredUntil, invocationId = `e-${platform.newUuid()}` } = request;
  const wanted = artifactsToRestore(session.state);
  const key = sessionKeyOf(session);
  const artifactDelta: Record<string, number> = {};
  for (const [filename, version] of wanted) {
    const service = required(artifactService, wanted);
    const found = version === null ? undefined : await findVersion(service, key, filename, version);
    await sessionService.renewLease(lease);
    if (version === null) await service.deleteArtifact({ ...key, filename });
    else if (found) setOwn(artifactDelta, filename, await service.saveArtifact({ ...key, filename, ...found }));
  }
  const event = createEvent({
    id: platform.newEventId(),
    invocationId,
    author: 'user',
    timestamp: afterCovered(platform.now() / 1000, coveredUntil),
    executionId: invocationId,
    actions: { removedState: [ARTIFACTS_TO_RESTORE], artifactDelta },
  });
  return sessionService.appendEvent({ session, event, lease });
}

/**
 * Checks that artifacts can be restored, before anything says that they are to be.
 * @throws ConfigurationError without an artifact service
 * @throws InvalidRequestError when one has other versions but not that one
 */
export async function checkRestorable(
  service: BaseArtifactService | undefined,
  key: SessionKey,
  wanted: ArtifactsToRestore,
): Promise<void> {
  for (const [filename, version] of wanted) {
    const known = required(service, wanted);
    if (version === null || (await known.getArtifactVersion({ ...key, filename, version }))) continue;
    if ((await known.listVersions({ ...key, filename })).length === 0) continue;
    throw new InvalidRequestError(
      `artifact ${JSON.stringify(filename)}: its version ${version} was deleted, so it cannot be as it was`,
    );
  }
}

/** What a version holds, to be saved again. */
async function findVersion(service: BaseArtifactService, key: SessionKey, filename: string, version: number) {
  const artifact = await service.loadArtifact({ ...key, filename, version });
  const { customMetadata } = (await service.getArtifactVersion({ ...key, filename, version })) ?? {};
  return artifact && { artifact, customMetadata };
}

function required(service: BaseArtifactService | undefined, wanted: ArtifactsToRestore): BaseArtifactService {
  if (service) return service;
  throw new ConfigurationError(
    `the session was taken back to before ${[...wanted.keys()].join(', ')} changed, and the runner has no artifactService`,
  );
}
