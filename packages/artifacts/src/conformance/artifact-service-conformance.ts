import { ConfigurationError } from '@eventloom/core';
import type { ConformanceCase, MakeArtifactService } from './conformance-case.ts';
import { ConformanceError } from './conformance-error.ts';
import { Expect } from './expect.ts';
import { loadRules } from './load-rules.ts';
import { nameRules } from './name-rules.ts';
import { saveRules } from './save-rules.ts';
import { createStillPlatform } from './still-platform.ts';
import { versionRules } from './version-rules.ts';

/** How the cases are run, and what a back end does otherwise, on purpose. */
export interface ArtifactConformanceOptions {
  /** Case id to the reason why the back end does not keep it. Such cases are left out. */
  readonly deviations?: Readonly<Record<string, string>>;
}

/**
 * The contract of `BaseArtifactService` as cases for any test runner: run each, and a broken rule rejects with a
 * ConformanceError that names it. Every case makes a service of its own.
 *
 * ```ts
 * for (const { id, title, run } of artifactServiceConformance(makeService)) test(`${id}: ${title}`, run);
 * ```
 * @throws ConfigurationError for a deviation from a case that does not exist
 */
export function artifactServiceConformance(
  makeService: MakeArtifactService,
  { deviations = {} }: ArtifactConformanceOptions = {},
): ConformanceCase[] {
  const rules = [...saveRules, ...loadRules, ...nameRules, ...versionRules];
  for (const id of Object.keys(deviations)) {
    if (!rules.some((rule) => rule.id === id)) throw new ConfigurationError(`there is no conformance case ${id}`);
  }
  return rules
    .filter(({ id }) => !Object.hasOwn(deviations, id))
    .map(({ id, title, check }) => ({
      id,
      title,
      async run() {
        const platform = createStillPlatform();
        const subject = await makeService({ platform });
        try {
          await check({ service: subject.service, platform, expect: new Expect(id) });
        } catch (error) {
          throw ConformanceError.isInstance(error) ? error : new ConformanceError(id, 'the case', 'no error', error);
        } finally {
          await subject.close?.();
        }
      },
    }));
}
