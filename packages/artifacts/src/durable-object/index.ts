// Artifacts in the SQL storage of a Durable Object. Imports no platform module.

export type { DurableObjectArtifactServiceOptions } from './durable-object-artifact-service.ts';
export { DurableObjectArtifactService } from './durable-object-artifact-service.ts';
