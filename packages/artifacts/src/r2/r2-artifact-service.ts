import { ConfigurationError, systemPlatform } from '@eventloom/core';
import { type OptionRules, checkOptions } from '@eventloom/core/internal';
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

const OPTIONS: OptionRules<R2ArtifactServiceOptions> = { bucket: 'object', prefix: 'text', platform: 'object' };

/**
 * Artifacts in an R2 bucket. Any number of Workers may use one bucket at the same time: no two saves get the same number, a version is
 * stored completely or not at all, and a deletion removes all versions at once, even if the Worker stops during either. A deletion removes
 * the versions that existed when it started; versions saved meanwhile stay. A bucket whose rules lock or expire these objects cannot keep
 * these promises.
 *
 * Operations (R2 bills class A at about twelve times class B):
 *
 * | call | class A | class B |
 * |---|---|---|
 * | save | 2 | 2 |
 * | load or describe the latest version | 1 | 2 |
 * | load or describe a given version | | 2 |
 * | list version numbers | 1 per 1,000 | 1 |
 * | list version descriptions | 1 per page | 1 |
 * | list names, for the session and for the user each | 1 per 1,000 names, 1 per page of deleted names, 1 per deleted name that was saved
 * again | |
 * | delete | 1, and 1 per 1,000 versions | 1 |
 *
 * A page has 1,000 entries, or fewer if R2 returns fewer together with their metadata. A save costs the same again each time another save
 * took its number, or a deletion removed it before the save completed. A record of over 6,000 bytes as JSON (the metadata, and the part
 * without its bytes) is stored in the object's body: describing it costs one more class B operation. R2 accepts one write of a key at a
 * time: conflicting saves and deletions wait and try again, five times in up to eight seconds.
 *
 * Limits: bytes pass through memory, about four times the artifact's size in addition to the part, in a Worker with 128 MB. A name has up
 * to 10,000,000,000 versions. An error of R2 is thrown unchanged; a save that rejects with one may have been stored. A deleted name keeps
 * an object of a few bytes with the next number.
 */
export class R2ArtifactService extends DriverArtifactService {
  /** @throws ConfigurationError for a prefix that is too long or malformed, and for an unknown option */
  constructor(options: R2ArtifactServiceOptions) {
    checkOptions('R2ArtifactService', OPTIONS, options);
    const { bucket, prefix = '', platform = systemPlatform } = options;
    if (!prefix.isWellFormed() || new TextEncoder().encode(prefix).length > MAX_PREFIX_BYTES) {
      throw new ConfigurationError(
        `R2ArtifactService: prefix: expected well-formed text of at most ${MAX_PREFIX_BYTES} bytes; write prefix: 'artifacts/'`,
      );
    }
    super(new R2ArtifactDriver(bucket, prefix, platform), { platform });
  }
}
