import { ConfigurationError } from '@eventloom/core';
import { type OptionRules, checkOptions } from '@eventloom/core/internal';
import { resolve } from 'node:path';
import { DriverArtifactService, type DriverArtifactServiceOptions } from '../driver-artifact-service.ts';
import { FileArtifactDriver } from './file-artifact-driver.ts';

/** Options of `FileArtifactService`. */
export interface FileArtifactServiceOptions extends DriverArtifactServiceOptions {
  /** Folder in which all artifacts are stored. Created at the first save if it does not exist. */
  readonly rootDir: string;
  /**
   * The failures that a saved version survives. `process` (default): any end of this process. `power`: also a power
   * failure; every save then flushes to the disk, which is slower.
   */
  readonly durability?: 'process' | 'power';
}

const OPTIONS: OptionRules<FileArtifactServiceOptions> = {
  rootDir: { is: 'text', write: "'artifacts'" },
  durability: { is: 'text', oneOf: ['process', 'power'] },
  platform: 'object',
};
const HINTS = {
  path: 'did you mean "rootDir"?',
  folder: 'did you mean "rootDir"?',
  directory: 'did you mean "rootDir"?',
};

/**
 * Stores artifacts in a folder, their bytes as plain files. Several processes may use the same folder concurrently: no
 * two saves get the same version number, and an incomplete version is not visible. The number of a failed save is
 * skipped. Folders and files that the service creates have the modes 0700 and 0600; an existing `rootDir` keeps its
 * mode.
 */
export class FileArtifactService extends DriverArtifactService {
  /** @throws ConfigurationError without a `rootDir`, and for an unknown option */
  constructor(options: FileArtifactServiceOptions) {
    checkOptions('FileArtifactService', OPTIONS, options, HINTS);
    const { rootDir, durability, platform } = options;
    if (!rootDir)
      throw new ConfigurationError(
        "FileArtifactService: rootDir is missing; write the path of a folder, as in { rootDir: 'artifacts' }",
      );
    super(new FileArtifactDriver(resolve(rootDir), durability === 'power'), { platform });
  }
}
