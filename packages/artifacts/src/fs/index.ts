// Artifacts in a folder. Needs node:fs, and nothing else.

export type { FileArtifactServiceOptions } from './file-artifact-service.ts';
export { FileArtifactService } from './file-artifact-service.ts';
