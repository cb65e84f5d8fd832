import type { Part } from '@eventloom/core';

/** An answer given at once, or later. */
export type MaybePromise<T> = T | Promise<T>;

/** Whose artifacts: a session's, or the user's own when there is no session. */
export interface ArtifactOwner {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string | undefined;
}

/** Where the versions of one artifact are. */
export interface ArtifactPlace extends ArtifactOwner {
  /** Without `user:`. May hold slashes. */
  readonly name: string;
}

/** What is stored of a version beside its bytes: JSON. */
export interface ArtifactRecord {
  /** The part as it was saved, but for the data of `inlineData`, which is an empty string here. */
  readonly part: Part;
  readonly mimeType: string;
  /** Seconds since the epoch. */
  readonly createTime: number;
  readonly customMetadata?: Readonly<Record<string, unknown>>;
}

/** What is known of a version beside its part. */
export interface ArtifactVersionRecord extends Omit<ArtifactRecord, 'part'> {
  readonly version: number;
}

/** One version as it is stored. */
export interface StoredArtifact {
  readonly record: ArtifactRecord;
  /** The bytes of `inlineData` as standard, padded base64; undefined for a part without bytes. */
  readonly data: string | undefined;
}

/** Which version to read, and how much of it. */
export interface ArtifactRead {
  /** The latest when undefined. */
  readonly version: number | undefined;
  /** False to read the record only; `data` is then undefined. */
  readonly withData: boolean;
}

/**
 * Storage for artifacts: all that a back end has to write. `DriverArtifactService` in front of it checks names, parts and
 * metadata, and brings bytes into one form of base64. What reaches a driver is well-formed, and what it is given and gives is
 * never changed by the other side.
 */
export interface ArtifactDriver {
  /**
   * Stores a version under the next number and gives that: 0 for the first, one more with each save, never a number used before,
   * also when its version is gone. A version can be read when all of it is stored, and not before.
   */
  save(place: ArtifactPlace, artifact: StoredArtifact): MaybePromise<number>;

  /** A version and its number, or undefined when it is not there. */
  read(
    place: ArtifactPlace,
    read: ArtifactRead,
  ): MaybePromise<(StoredArtifact & { readonly version: number }) | undefined>;

  /** The versions that are there, in any order. */
  versions(place: ArtifactPlace): MaybePromise<number[]>;

  /**
   * What is known of every version that is there, in any order. For a back end that can tell without a read for each; without
   * this method each is read.
   */
  versionRecords?(place: ArtifactPlace): MaybePromise<ArtifactVersionRecord[]>;

  /** The names that have a version, in any order. */
  names(owner: ArtifactOwner): MaybePromise<string[]>;

  /** Removes every version. Absent: a no-op. */
  delete(place: ArtifactPlace): MaybePromise<void>;
}
