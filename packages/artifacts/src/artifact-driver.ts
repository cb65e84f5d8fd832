import type { MaybePromise, Part } from '@eventloom/core';

/** The owner of artifacts: a session, or the user when `sessionId` is undefined. */
export interface ArtifactOwner {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string | undefined;
}

/** The address of one artifact: its owner and its file name. All versions of the artifact share it. */
export interface ArtifactPlace extends ArtifactOwner {
  /** Name of the artifact, without `user:`. May hold slashes. */
  readonly name: string;
}

/** The JSON that is stored beside the bytes of a version. */
export interface ArtifactRecord {
  /** The saved part, with an empty string as the data of `inlineData`. */
  readonly part: Part;
  readonly mimeType: string;
  /** Time at which the version was saved, in seconds since the epoch. */
  readonly createTime: number;
  readonly customMetadata?: Readonly<Record<string, unknown>>;
}

/** The metadata of a version, without its part. */
export interface ArtifactVersionRecord extends Omit<ArtifactRecord, 'part'> {
  readonly version: number;
}

/** One version as it is stored. */
export interface StoredArtifact {
  readonly record: ArtifactRecord;
  /** The bytes of `inlineData` as standard, padded base64; undefined for a part without bytes. */
  readonly data: string | undefined;
}

/** Options of a read: the version, and whether its bytes are needed. */
export interface ArtifactRead {
  /** Number of the version; undefined for the latest. */
  readonly version: number | undefined;
  /** False to read the record only; `data` is then undefined. */
  readonly withData: boolean;
}

/**
 * Storage for artifacts: everything that a back end has to implement. `DriverArtifactService` in front of it checks
 * names, parts and metadata, and converts bytes to standard base64. A driver gets well-formed values only. Neither side
 * modifies a value that it passed or received.
 */
export interface ArtifactDriver {
  /**
   * Stores a version under the next number and returns the number: 0 for the first, one more with each save, and never a number that was
   * used before, even if its version was deleted. A version can be read only once it is stored completely.
   */
  save(place: ArtifactPlace, artifact: StoredArtifact): MaybePromise<number>;

  /** Throws the SizeLimitError with which `save` would refuse the version. Saves nothing. Absent in a driver without limits. */
  checkSave?(place: ArtifactPlace, artifact: StoredArtifact): void;

  /** Returns a version and its number; undefined if it does not exist. */
  read(
    place: ArtifactPlace,
    read: ArtifactRead,
  ): MaybePromise<(StoredArtifact & { readonly version: number }) | undefined>;

  /** Lists the existing versions, in any order. */
  versions(place: ArtifactPlace): MaybePromise<number[]>;

  /**
   * Returns the metadata of all existing versions, in any order. Implement it if the back end can list metadata without
   * one read per version; otherwise the service reads every version.
   */
  versionRecords?(place: ArtifactPlace): MaybePromise<ArtifactVersionRecord[]>;

  /** Lists the names with a version, in any order. */
  names(owner: ArtifactOwner): MaybePromise<string[]>;

  /** Removes all versions. A no-op if there are none. */
  delete(place: ArtifactPlace): MaybePromise<void>;
}
