import { DriverArtifactService, type DriverArtifactServiceOptions } from './driver-artifact-service.ts';
import { InMemoryArtifactDriver } from './in-memory-artifact-driver.ts';

/** Options of `InMemoryArtifactService`. */
export type InMemoryArtifactServiceOptions = DriverArtifactServiceOptions;

/**
 * Artifacts in the memory of this process: for tests and tools whose files need not outlive it. Everything the contract promises
 * holds except surviving a restart. Versions stay until they are deleted.
 */
export class InMemoryArtifactService extends DriverArtifactService {
  constructor(options: InMemoryArtifactServiceOptions = {}) {
    super(new InMemoryArtifactDriver(), options);
  }
}
