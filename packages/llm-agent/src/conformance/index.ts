// The contract of code sandboxes as cases for any test runner.

export type { ConformanceCase, ConformanceOptions, MakeService, ServiceUnderTest } from '@eventloom/core/conformance';
export { ConformanceError } from '@eventloom/core/conformance';
export { codeSandboxConformance } from './code-sandbox-conformance.ts';
