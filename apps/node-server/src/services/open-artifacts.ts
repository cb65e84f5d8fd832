import { statSync } from 'node:fs';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { FileArtifactService } from '@eventloom/artifacts/fs';
import type { BaseArtifactService } from '@eventloom/core';
import { UsageError } from '../errors.ts';
import type { ArtifactsPlace } from '../settings.ts';

/** The artifacts of a place. @throws UsageError for a folder that is a file */
export function openArtifacts(place: ArtifactsPlace): BaseArtifactService {
  if (place.kind === 'memory') return new InMemoryArtifactService();
  const { folder } = place;
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new UsageError(`--artifacts file:${folder}: is no folder; name one, or a path where one can be made`);
  }
  return new FileArtifactService({ rootDir: folder });
}
