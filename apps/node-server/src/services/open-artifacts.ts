import { InMemoryArtifactService } from '@eventloom/artifacts';
import { FileArtifactService } from '@eventloom/artifacts/fs';
import type { BaseArtifactService } from '@eventloom/core';
import type { ArtifactsPlace } from '../settings.ts';

/** The artifacts of a place. */
export function openArtifacts(place: ArtifactsPlace): BaseArtifactService {
  return place.kind === 'memory' ? new InMemoryArtifactService() : new FileArtifactService({ rootDir: place.folder });
}
