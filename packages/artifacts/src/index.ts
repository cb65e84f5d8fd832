// Artifact services that need only web standards, and the contract for a driver of your own storage.

export type { MaybePromise } from '@eventloom/core';
export type { InMemoryArtifactServiceOptions } from './in-memory-artifact-service.ts';
export { InMemoryArtifactService } from './in-memory-artifact-service.ts';
export type { DriverArtifactServiceOptions } from './driver-artifact-service.ts';
export { DriverArtifactService } from './driver-artifact-service.ts';
export type {
  ArtifactDriver,
  ArtifactOwner,
  ArtifactPlace,
  ArtifactRead,
  ArtifactRecord,
  ArtifactVersionRecord,
  StoredArtifact,
} from './artifact-driver.ts';
