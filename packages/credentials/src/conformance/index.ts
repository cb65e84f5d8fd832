// The contract of credential services as cases for any test runner.

export type { ConformanceCase, ConformanceOptions, MakeService, ServiceUnderTest } from '@eventloom/core/conformance';
export { ConformanceError, ManualPlatform } from '@eventloom/core/conformance';
export { credentialServiceConformance } from './credential-service-conformance.ts';
