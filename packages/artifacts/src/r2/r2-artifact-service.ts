import { ConfigurationError, systemPlatform } from '@eventloom/core';
import { type OptionNames, checkKnown } from '@eventloom/core/internal';
import { DriverArtifactService, type DriverArtifactServiceOptions } from '../driver-artifact-service.ts';
import type { R2ArtifactBucket } from './r2-artifact-bucket.ts';
import { R2ArtifactDriver } from './r2-artifact-driver.ts';
import { MAX_PREFIX_BYTES } from './r2-artifact-keys.ts';

/** Options of `R2ArtifactService`. */
export interface R2ArtifactServiceOptions extends DriverArtifactServiceOptions {
  /** The binding of the bucket. */
  readonly bucket: R2ArtifactBucket;
  /**
   * Prefix of all keys, used unchanged, such as `artifacts/`. At most 100 bytes; default empty. Give services that
   * share a bucket different prefixes.
   */
  readonly prefix?: string | undefined;
}

const OPTIONS: OptionNames<R2ArtifactServiceOptions> = { bucket: true, prefix: true, platform: true };

/**
 * Artifacts in an R2 bucket. Any number of Workers may use one bucket at the same time: no two saves get the same number, a
 * version is stored completely or not at all, and a deletion removes all versions at once, also if the Worker stops during either.
 * A deletion removes the versions that existed when it began; versions saved meanwhile stay. A bucket whose rules lock or expire
 * these objects cannot keep these promises.
 *
 * Operations, of which R2 bills class A at about twelve times class B:
 *
 * | call | class A | class B |
 * |---|---|---|
 * | save | 2 | 2 |
 * | load the latest; get it | 1 | 2 |
 * | load a version; get one | | 2 |
 * | list versions | 1 for each 1,000 | 1 |
 * | list what is known of versions | 1 for each page | 1 |
 * | list names, of the session and of the user each | 1 for each 1,000 names, 1 for each page of those that were ever deleted, 1 for each of these that is there again | |
 * | delete | 1, and 1 for each 1,000 versions | 1 |
 *
 * A page has 1,000, or fewer where R2 gives fewer together with their metadata. A save costs as much again each time that another
 * save took its number, or a delete removed it before the save was over. A record of over 6,000 bytes as JSON (the metadata, and
 * the part without its bytes) lies in the object's body: to get it alone costs one B more. R2 takes one write of a key at a time:
 * a save or a delete that meets another one there waits and tries again, five times in up to eight seconds.
 *
 * Limits: bytes pass through memory, about four times the artifact's size beside the part itself, in a Worker that has 128 MB. A
 * name has up to 10,000,000,000 versions. An error of R2 is thrown as it is; a save that rejects with one may have been
 * stored. Of a deleted name an object of a few bytes stays, which knows the next number.
 */
export class R2ArtifactService extends DriverArtifactService {
  /** @throws ConfigurationError for a prefix that is too long or malformed, and for an option this version does not have */
  constructor(options: R2ArtifactServiceOptions) {
    checkKnown('R2ArtifactService', OPTIONS, options);
    const { bucket, prefix = '', platform = systemPlatform } = options;
    if (!prefix.isWellFormed() || new TextEncoder().encode(prefix).length > MAX_PREFIX_BYTES) {
      throw new ConfigurationError(
        `R2ArtifactService: prefix: expected well-formed text of at most ${MAX_PREFIX_BYTES} bytes`,
      );
    }
    super(new R2ArtifactDriver(bucket, prefix, platform), { platform });
  }
}
