// Artifacts in an R2 bucket. Needs only the binding of the bucket.

export type {
  R2ArtifactBody,
  R2ArtifactBucket,
  R2ArtifactListing,
  R2ArtifactObject,
  R2ArtifactPage,
  R2ArtifactWrite,
} from './r2-artifact-bucket.ts';
export type { R2ArtifactServiceOptions } from './r2-artifact-service.ts';
export { R2ArtifactService } from './r2-artifact-service.ts';
