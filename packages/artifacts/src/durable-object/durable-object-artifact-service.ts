import { type DurableObjectStorage } from '@eventloom/core';
import { type OptionRules, checkOptions, wrongOption } from '@eventloom/core/internal';
import { DriverArtifactService, type DriverArtifactServiceOptions } from '../driver-artifact-service.ts';
import { DurableObjectArtifactDriver } from './durable-object-artifact-driver.ts';

/** Options of `DurableObjectArtifactService`. */
export interface DurableObjectArtifactServiceOptions extends DriverArtifactServiceOptions {
  /** `ctx.storage` of an object whose class has SQLite storage. The tables of this package begin with `eventloom_`. */
  readonly storage: DurableObjectStorage;
}

const OPTIONS: OptionRules<DurableObjectArtifactServiceOptions> = { storage: 'object', platform: 'object' };

/**
 * Artifacts in the SQL storage of a Durable Object, for small artifacts without an R2 bucket. Create it in the object's constructor, where
 * its tables are created; they are separate from those of the sessions in the same object.
 *
 * An object has the artifacts that were saved in it, including `user:` names. For these to be complete, one object must have all sessions
 * of a user.
 *
 * Work on the storage is synchronous: a version is stored or deleted as a whole, without other work in between. The writes of a call are
 * durable before an answer or message leaves the object. A call that returned and was not followed by an answer may be lost with the
 * machine, but never in part.
 *
 * Limits: a version takes up to 16 MiB (16,777,216 bytes): its bytes, and everything else of the part and the metadata as JSON; more is a
 * SizeLimitError that changes nothing. It is split into rows of 1 MiB, because a row has at most 2 MB. Loading and saving need about four
 * times an artifact's size in memory in addition to the part, of the 128 MB of an object. An object stores 10 GB; a write beyond that is an
 * error of the storage that changes nothing.
 */
export class DurableObjectArtifactService extends DriverArtifactService {
  /** @throws ConfigurationError without the SQL storage, when the tables were made by a newer version, and for an unknown option */
  constructor(options: DurableObjectArtifactServiceOptions) {
    checkOptions('DurableObjectArtifactService', OPTIONS, options);
    const { storage, platform } = options;
    if (storage?.sql === undefined)
      throw wrongOption(
        'DurableObjectArtifactService',
        'storage',
        'the SQL storage of a Durable Object',
        storage,
        'ctx.storage',
      );
    super(new DurableObjectArtifactDriver(storage), { platform });
  }
}
