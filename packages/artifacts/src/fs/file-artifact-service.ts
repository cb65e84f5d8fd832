import { ConfigurationError } from '@eventloom/core';
import { resolve } from 'node:path';
import { DriverArtifactService, type DriverArtifactServiceOptions } from '../driver-artifact-service.ts';
import { FileArtifactDriver } from './file-artifact-driver.ts';

/** Options of `FileArtifactService`. */
export interface FileArtifactServiceOptions extends DriverArtifactServiceOptions {
  /** The folder that everything is stored below; made with the first save. */
  readonly rootDir: string;
  /**
   * The failures that a saved version survives. `process` (default): any end of this process. `power`: also a power
   * failure; every save then flushes to the disk, which is slower.
   */
  readonly durability?: 'process' | 'power';
}

/**
 * Artifacts in a folder, their bytes as plain files. Several processes may use one folder at the same time: no two saves get the
 * same number, and a version that is not wholly written cannot be seen. A number whose save failed midway is skipped. Folders and
 * files that the service makes have the modes 0700 and 0600; a `rootDir` that is there keeps its own.
 */
export class FileArtifactService extends DriverArtifactService {
  /** @throws ConfigurationError without a `rootDir` */
  constructor(options: FileArtifactServiceOptions) {
    if (!options.rootDir) throw new ConfigurationError('FileArtifactService: rootDir names no folder');
    super(new FileArtifactDriver(resolve(options.rootDir), options.durability === 'power'), options);
  }
}
