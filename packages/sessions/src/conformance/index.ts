// The contract of session services as cases for any test runner.

export type { ConformanceCase, ConformanceOptions, MakeService, ServiceUnderTest } from '@eventloom/core/conformance';
export { ConformanceError, ManualPlatform } from '@eventloom/core/conformance';
export { sessionServiceConformance } from './session-service-conformance.ts';
export { sessionTransferConformance } from './session-transfer-conformance.ts';
