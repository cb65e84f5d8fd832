// The contract of artifact services as cases for any test runner.

export type { ArtifactServiceUnderTest, ConformanceCase, MakeArtifactService } from './conformance-case.ts';
export type { ArtifactConformanceOptions } from './artifact-service-conformance.ts';
export { artifactServiceConformance } from './artifact-service-conformance.ts';
export { ConformanceError } from './conformance-error.ts';
