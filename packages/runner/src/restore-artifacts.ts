import {
  type BaseArtifactService,
  ConfigurationError,
  createEvent,
  type Event,
  InvalidRequestError,
  type Session,
  type SessionKey,
  type SessionLease,
} from '@eventloom/core';
import { afterCovered, ARTIFACTS_TO_RESTORE, newInvocationId, sessionKeyOf, setOwn } from '@eventloom/core/internal';
import type { LockedRun } from './lock-run.ts';
import type { Runner } from './runner.ts';
import { coveredUntil } from './session-loader.ts';

/** A locked session, and the data of the event to append. */
interface RestoreRequest {
  readonly session: Session;
  readonly lease: SessionLease;
  /** The time up to which compactions cover the session, seconds. */
  readonly coveredUntil: number;
  /** The invocation of the event. Default: a new one. */
  readonly invocationId?: string | undefined;
}

/**
 * Restores the artifacts that a rewind listed in the session's state, and appends an event that has the new versions
 * and removes the list. An interrupted call can be repeated. The lease is checked before each write. An artifact that
 * was deleted since stays deleted.
 *
 * @throws ConfigurationError without an artifact service
 * @throws StaleWriterError, and the errors of the services
 */
export async function restoreArtifacts(runner: Runner, request: RestoreRequest): Promise<Event | undefined> {
  const { sessionService, artifactService, platform } = runner;
  const { session, lease, coveredUntil, invocationId = newInvocationId(platform) } = request;
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

/** Completes an interrupted rewind, before agents see the artifacts of the session. */
export async function finishRewind(runner: Runner, { loaded, lock: { lease } }: LockedRun): Promise<void> {
  await restoreArtifacts(runner, { session: loaded.session, lease, coveredUntil: coveredUntil(loaded) });
}

/**
 * Checks that artifacts can be restored, before the rewind is written.
 *
 * @throws ConfigurationError without an artifact service
 * @throws InvalidRequestError if an artifact has other versions but not the one to restore
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
      `artifact ${JSON.stringify(filename)}: its version ${version} was deleted, so it cannot be restored`,
    );
  }
}

/** Loads a version with its metadata, to save it again. */
async function findVersion(service: BaseArtifactService, key: SessionKey, filename: string, version: number) {
  const artifact = await service.loadArtifact({ ...key, filename, version });
  const { customMetadata } = (await service.getArtifactVersion({ ...key, filename, version })) ?? {};
  return artifact && { artifact, customMetadata };
}

function required(service: BaseArtifactService | undefined, wanted: ArtifactsToRestore): BaseArtifactService {
  if (service) return service;
  throw new ConfigurationError(
    `the session was rewound to before ${[...wanted.keys()].join(', ')} changed, and the runner has no artifactService to restore them; write artifactService in its options`,
  );
}

/** The version to restore for each artifact name; null for an artifact to delete. */
export type ArtifactsToRestore = ReadonlyMap<string, number | null>;

const NOTHING: ArtifactsToRestore = new Map();

/** Reads the artifacts to restore from a session's state, or from the state delta of a rewind. */
export function artifactsToRestore(state: Readonly<Record<string, unknown>>): ArtifactsToRestore {
  const listed = Object.hasOwn(state, ARTIFACTS_TO_RESTORE) ? state[ARTIFACTS_TO_RESTORE] : undefined;
  if (typeof listed !== 'object' || listed === null) return NOTHING;
  const found = new Map<string, number | null>();
  // Users can write state too, so the list is checked.
  for (const [filename, version] of Object.entries(listed)) {
    if (filename.startsWith('user:')) continue;
    if (version === null || (Number.isInteger(version) && Number(version) >= 0)) found.set(filename, version as number);
  }
  return found;
}
