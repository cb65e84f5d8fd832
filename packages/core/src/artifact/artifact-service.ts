import type { Part } from '../content/content.ts';
import type { SessionKey } from '../session/session-key.ts';

/** Identifies an artifact. A name with the prefix `user:` belongs to the user, and all of their sessions can load it. */
export interface ArtifactKey extends SessionKey {
  /** Name of the artifact: see `checkArtifactName`. */
  readonly filename: string;
}

/** Parameters of `saveArtifact`. */
export interface SaveArtifactRequest extends ArtifactKey {
  /** A part with `inlineData`, `fileData` or `text`. */
  readonly artifact: Part;
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
}

/** Parameters of `loadArtifact` and `getArtifactVersion`. */
export interface LoadArtifactRequest extends ArtifactKey {
  /** Number of the version. Default: the latest. */
  readonly version?: number | undefined;
}

/** Metadata of one version, without its bytes. */
export interface ArtifactVersion {
  readonly version: number;
  /** URI of the version: `artifact://apps/A/users/U[/sessions/S]/artifacts/F/versions/N`. */
  readonly canonicalUri: string;
  readonly mimeType: string;
  /** Time at which the version was saved, in seconds since the epoch. */
  readonly createTime: number;
  readonly customMetadata?: Readonly<Record<string, unknown>>;
}

/**
 * The contract of artifact services, which store files that users send and tools make, such as images and documents. A file belongs to a
 * session, or to a user if its name begins with `user:`. Tools use `toolContext.saveArtifact` and `loadArtifact`.
 *
 * Every save makes a new version. Version numbers start at 0, grow by one with each save, and are never
 * reused, not even after a delete. Saved and loaded bytes are copies. Every method throws InvalidArtifactNameError for a name that
 * `checkArtifactName` refuses, and changes nothing then.
 */
export abstract class BaseArtifactService {
  /**
   * Saves a version and returns its number. Concurrent saves of one name get different numbers.
   * @throws InvalidRequestError for a part without `inlineData`, `fileData` or `text`
   */
  abstract saveArtifact(request: SaveArtifactRequest): Promise<number>;
  /**
   * Checks that `saveArtifact` accepts a part. Saves nothing. A runner calls it before another run is interrupted for a
   * message with files. Absent in a service that cannot tell.
   *
   * @throws the errors with which `saveArtifact` refuses the part, such as SizeLimitError
   */
  checkSave?(request: SaveArtifactRequest): Promise<void>;
  /** Returns the part as it was saved; undefined if the name or the version does not exist. */
  abstract loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined>;
  /** Returns the names that this session can load: its own and the user's (with `user:`), sorted by code unit. */
  abstract listArtifactKeys(request: SessionKey): Promise<string[]>;
  /** Returns the versions of the artifact with this name in ascending order; empty if the artifact does not exist. */
  abstract listVersions(request: ArtifactKey): Promise<number[]>;
  /** Returns the metadata of all versions, ascending. */
  abstract listArtifactVersions(request: ArtifactKey): Promise<ArtifactVersion[]>;
  /** Returns the metadata of one version (the latest if none is named), or undefined. */
  abstract getArtifactVersion(request: LoadArtifactRequest): Promise<ArtifactVersion | undefined>;
  /** Deletes all versions of the artifact with this name. A no-op if the artifact does not exist. */
  abstract deleteArtifact(request: ArtifactKey): Promise<void>;
}

/**
 * State key for artifacts that a rewind still has to restore. It is written with the event of the rewind and removed when all are
 * restored, so that the next run or rewind of the session can complete the work if the process was lost.
 */
export const ARTIFACTS_TO_RESTORE = 'eventloom.artifactsToRestore';
