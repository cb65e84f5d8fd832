import type { BaseArtifactService } from '@eventloom/core';
import {
  type ConformanceCase,
  conformanceCases,
  type ConformanceOptions,
  type MakeService,
} from '@eventloom/core/conformance';
import { loadRules } from './load-rules.ts';
import { nameRules } from './name-rules.ts';
import { saveRules } from './save-rules.ts';
import { versionRules } from './version-rules.ts';

/**
 * Returns the contract of `BaseArtifactService` as cases for any test runner: run each; a broken rule rejects with a
 * ConformanceError that names it. Every case creates its own service.
 *
 * ```ts
 * for (const { id, title, run } of artifactServiceConformance(makeService)) test(`${id}: ${title}`, run);
 * ```
 * @throws ConfigurationError for a deviation from a case that does not exist
 */
export function artifactServiceConformance(
  makeService: MakeService<BaseArtifactService>,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  return conformanceCases([...saveRules, ...loadRules, ...nameRules, ...versionRules], makeService, options);
}
