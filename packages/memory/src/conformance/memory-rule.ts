import type { BaseMemoryService } from '@eventloom/core';
import type { ConformanceRule, ConformanceSubject } from '@eventloom/core/conformance';

/** The service under test and the tools that a test case works with. */
export type Subject = ConformanceSubject<BaseMemoryService>;
/** A case before it is bound to a service. */
export type MemoryRule = ConformanceRule<BaseMemoryService>;
