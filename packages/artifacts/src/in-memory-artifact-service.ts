import { DriverArtifactService, type DriverArtifactServiceOptions } from './driver-artifact-service.ts';
import { InMemoryArtifactDriver } from './in-memory-artifact-driver.ts';

/** Options of `InMemoryArtifactService`. */
export type InMemoryArtifactServiceOptions = DriverArtifactServiceOptions;

/**
 * Keeps artifacts in the memory of this process, for tests and tools whose files need not outlive it. Fulfils the whole
 * contract, except that artifacts do not survive a restart. Versions are kept until they are deleted.
 *
 * @example
 * const runner = new Runner({ appName, agent, sessionService, artifactService: new InMemoryArtifactService() });
 */
export class InMemoryArtifactService extends DriverArtifactService {
  constructor(options: InMemoryArtifactServiceOptions = {}) {
    super(new InMemoryArtifactDriver(), options);
  }
}
