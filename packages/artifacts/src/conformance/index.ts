// The contract of artifact services as cases for any test runner.

export type { ConformanceCase, ConformanceOptions, MakeService, ServiceUnderTest } from '@eventloom/core/conformance';
export { ConformanceError, ManualPlatform } from '@eventloom/core/conformance';
export { artifactServiceConformance } from './artifact-service-conformance.ts';
