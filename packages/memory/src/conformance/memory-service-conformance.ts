import type { BaseMemoryService } from '@eventloom/core';
import {
  type ConformanceCase,
  conformanceCases,
  type ConformanceOptions,
  type MakeService,
} from '@eventloom/core/conformance';
import { addRules } from './add-rules.ts';
import { deleteRules } from './delete-rules.ts';
import { rankRules } from './rank-rules.ts';
import { rewindRules } from './rewind-rules.ts';
import { scopeRules } from './scope-rules.ts';
import { wordRules } from './word-rules.ts';

/**
 * Returns the contract of `BaseMemoryService` as cases for any test runner: run each; a broken rule rejects with a
 * ConformanceError that names it. Every case creates its own service.
 *
 * ```ts
 * for (const { id, title, run } of memoryServiceConformance(makeService)) test(`${id}: ${title}`, run);
 * ```
 * @throws ConfigurationError for a deviation from a case that does not exist
 */
export function memoryServiceConformance(
  makeService: MakeService<BaseMemoryService>,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  const rules = [...addRules, ...rewindRules, ...wordRules, ...rankRules, ...scopeRules, ...deleteRules];
  return conformanceCases(rules, makeService, options);
}
