import type { BaseSessionService } from '@eventloom/core';
import type { ConformanceRule, ConformanceSubject } from '@eventloom/core/conformance';

/** What a case works with. */
export type Subject = ConformanceSubject<BaseSessionService>;
/** A case before it is bound to a service. */
export type SessionRule = ConformanceRule<BaseSessionService>;
