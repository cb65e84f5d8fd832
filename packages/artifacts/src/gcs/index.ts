// Artifacts in a bucket of Cloud Storage. Needs `fetch` and nothing else.

export type { GcsArtifactServiceOptions } from './gcs-artifact-service.ts';
export { GcsArtifactService } from './gcs-artifact-service.ts';
