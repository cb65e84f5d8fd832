// Artifacts in the SQL storage of a Durable Object. Needs nothing but what is handed in.

export type { DurableObjectArtifactServiceOptions } from './durable-object-artifact-service.ts';
export { DurableObjectArtifactService } from './durable-object-artifact-service.ts';
