// The contract of memory services as cases for any test runner.

export type { ConformanceCase, ConformanceOptions, MakeService, ServiceUnderTest } from '@eventloom/core/conformance';
export { ConformanceError, ManualPlatform } from '@eventloom/core/conformance';
export { memoryServiceConformance } from './memory-service-conformance.ts';
