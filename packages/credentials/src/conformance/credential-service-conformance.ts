import type { BaseCredentialService } from '@eventloom/core';
import {
  type ConformanceCase,
  conformanceCases,
  type ConformanceOptions,
  type MakeService,
} from '@eventloom/core/conformance';
import { keepRules } from './keep-rules.ts';
import { scopeRules } from './scope-rules.ts';
import { describeRules } from './describe-rules.ts';

/**
 * Returns the contract of `BaseCredentialService` as cases for any test runner: run each; a broken rule rejects with a
 * ConformanceError that names it. Every case creates its own service. A service whose storage other processes use is
 * created with `another`.
 *
 * ```ts
 * for (const { id, title, run } of credentialServiceConformance(makeService)) test(`${id}: ${title}`, run);
 * ```
 * @throws ConfigurationError for a deviation from a case that does not exist
 */
export function credentialServiceConformance(
  makeService: MakeService<BaseCredentialService>,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  return conformanceCases([...keepRules, ...scopeRules, ...describeRules], makeService, options);
}
