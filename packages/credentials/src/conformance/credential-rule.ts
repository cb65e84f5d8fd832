import type { BaseCredentialService } from '@eventloom/core';
import type { ConformanceRule } from '@eventloom/core/conformance';

/** A case before it is bound to a service. */
export type CredentialRule = ConformanceRule<BaseCredentialService>;
