import { type DurableObjectStorage } from '@eventloom/core';
import { type OptionNames, checkKnown } from '@eventloom/core/internal';
import { DriverArtifactService, type DriverArtifactServiceOptions } from '../driver-artifact-service.ts';
import { DurableObjectArtifactDriver } from './durable-object-artifact-driver.ts';

/** Options of `DurableObjectArtifactService`. */
export interface DurableObjectArtifactServiceOptions extends DriverArtifactServiceOptions {
  /** `ctx.storage` of an object whose class has SQLite storage. The tables of this package begin with `eventloom_`. */
  readonly storage: DurableObjectStorage;
}

const OPTIONS: OptionNames<DurableObjectArtifactServiceOptions> = { storage: true, platform: true };

/**
 * Artifacts in the SQL storage of a Durable Object: small ones, where there is no R2 bucket. Make it in the object's constructor,
 * where its tables are made as well; the sessions of the same object have tables of their own.
 *
 * An object knows the artifacts that were saved in it, also of `user:` names: for these to be whole, one object has all sessions
 * of a user.
 *
 * Work on the storage is synchronous: a version is stored or deleted as a whole, and nothing comes between. What a call wrote is
 * durable before any answer or message leaves the object. A call that returned and was followed by no answer may be lost with
 * the machine, each call whole.
 *
 * Limits: a version takes up to 16 MiB (16,777,216 bytes), its bytes and, as JSON, everything else of the part and the metadata
 * together; more is a SizeLimitError that changes nothing. It is cut into rows of 1 MiB, because a row takes 2 MB. Loading and
 * saving take about four times an artifact's size in memory, beside the part itself, of the 128 MB that an object has. An object
 * takes 10 GB; a write beyond is an error of the storage that changes nothing.
 */
export class DurableObjectArtifactService extends DriverArtifactService {
  /** @throws ConfigurationError when the tables were made by a newer version, and for an option this version does not have */
  constructor(options: DurableObjectArtifactServiceOptions) {
    checkKnown('DurableObjectArtifactService', OPTIONS, options);
    const { storage, platform } = options;
    super(new DurableObjectArtifactDriver(storage), { platform });
  }
}
