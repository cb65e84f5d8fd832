// Parts of conformance suites. The suites of the contracts are beside their back ends.

export type {
  ConformanceCase,
  ConformanceOptions,
  ConformanceRule,
  ConformanceSubject,
  MakeService,
  ServiceUnderTest,
} from './conformance-cases.ts';
export { conformanceCases } from './conformance-cases.ts';
export { ConformanceError } from './errors.ts';
export { Expect } from './expect.ts';
export { ManualPlatform } from './manual-platform.ts';
export type { Mutant } from './mutation-cases.ts';
export { mutationCases, overlay } from './mutation-cases.ts';
