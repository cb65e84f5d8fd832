// The contract of session services as cases for any test runner.

export type { ConformanceCase, MakeSessionService, SessionServiceUnderTest } from './conformance-case.ts';
export { ConformanceError } from './conformance-error.ts';
export { ManualPlatform } from './manual-platform.ts';
export type { SessionConformanceOptions } from './session-service-conformance.ts';
export { sessionServiceConformance } from './session-service-conformance.ts';
