import type { Part } from '../content/content.ts';
import type { SessionKey } from '../session/session.ts';

/** Names an artifact: with `user:` before its name it belongs to the user and all of their sessions see it. */
export interface ArtifactKey extends SessionKey {
  /** See `checkArtifactName`. */
  readonly filename: string;
}

/** Saves a new version. */
export interface SaveArtifactRequest extends ArtifactKey {
  /** A part with `inlineData`, `fileData` or `text`. */
  readonly artifact: Part;
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
}

/** Loads one version. */
export interface LoadArtifactRequest extends ArtifactKey {
  /** The latest when absent. */
  readonly version?: number | undefined;
}

/** Metadata of one version, without its bytes. */
export interface ArtifactVersion {
  readonly version: number;
  /** `artifact://apps/A/users/U[/sessions/S]/artifacts/F/versions/N` */
  readonly canonicalUri: string;
  readonly mimeType: string;
  /** Seconds since the epoch. */
  readonly createTime: number;
  readonly customMetadata?: Readonly<Record<string, unknown>>;
}

/**
 * Stores files with versions, beside the session and named by it. Versions are integers from 0, one more with each save, and
 * never used again, also not after a delete. Bytes given and taken are copies. Names are checked by `checkArtifactName`; every
 * method throws InvalidArtifactNameError for a bad one and changes nothing.
 */
export abstract class BaseArtifactService {
  /** Saves a version and returns its number. Concurrent saves of one name get different numbers. @throws InvalidRequestError for a part that holds nothing to save */
  abstract saveArtifact(request: SaveArtifactRequest): Promise<number>;
  /** The part as it was saved, or undefined when the name or version is not there. */
  abstract loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined>;
  /** Names that this session can load, its own and the user's (with `user:`), sorted by code unit. */
  abstract listArtifactKeys(request: SessionKey): Promise<string[]>;
  /** The versions of a name, ascending; empty when it is not there. */
  abstract listVersions(request: ArtifactKey): Promise<number[]>;
  /** Returns the metadata of all versions, ascending. */
  abstract listArtifactVersions(request: ArtifactKey): Promise<ArtifactVersion[]>;
  /** Returns the metadata of one version (the latest if none is named), or undefined. */
  abstract getArtifactVersion(request: LoadArtifactRequest): Promise<ArtifactVersion | undefined>;
  /** Removes every version of a name. Absent: a no-op. */
  abstract deleteArtifact(request: ArtifactKey): Promise<void>;
}

/**
 * The state key under which a rewind leaves what is still to be done to the session's artifacts. It is written with the event of the
 * rewind and removed when all is done, so that the next run or rewind of the session sees it, whichever events it reads.
 */
export const ARTIFACTS_TO_RESTORE = 'eventloom.artifactsToRestore';
