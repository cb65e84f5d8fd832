import { ConfigurationError } from '@eventloom/core';
import { appendRules } from './append-rules.ts';
import type { ConformanceCase, MakeSessionService } from './conformance-case.ts';
import { Expect } from './expect.ts';
import { leaseRules } from './lease-rules.ts';
import { leaseQueueRules } from './lease-queue-rules.ts';
import { ledgerRules } from './ledger-rules.ts';
import { listRules } from './list-rules.ts';
import { ManualPlatform } from './manual-platform.ts';
import { sessionRules } from './session-rules.ts';
import { stateKeyRules } from './state-key-rules.ts';
import { stateRules } from './state-rules.ts';
import { windowRules } from './window-rules.ts';

/** What a back end does otherwise, on purpose. */
export interface SessionConformanceOptions {
  /** Case id to the reason why the back end does not keep it. Such cases are left out. */
  readonly deviations?: Readonly<Record<string, string>>;
}

/**
 * The contract of `BaseSessionService` as cases for any test runner: run each, and a broken rule rejects with a ConformanceError
 * that names it. Every case makes a service of its own.
 *
 * ```ts
 * for (const { id, title, run } of sessionServiceConformance(makeService)) test(`${id}: ${title}`, run);
 * ```
 * @throws ConfigurationError for a deviation from a case that does not exist
 */
export function sessionServiceConformance(
  makeService: MakeSessionService,
  options: SessionConformanceOptions = {},
): ConformanceCase[] {
  const rules = [
    ...sessionRules,
    ...stateRules,
    ...stateKeyRules,
    ...appendRules,
    ...windowRules,
    ...listRules,
    ...leaseRules,
    ...leaseQueueRules,
    ...ledgerRules,
  ];
  const deviations = options.deviations ?? {};
  for (const id of Object.keys(deviations)) {
    if (!rules.some((rule) => rule.id === id)) throw new ConfigurationError(`there is no conformance case ${id}`);
  }
  return rules
    .filter(({ id }) => !Object.hasOwn(deviations, id))
    .map(({ id, title, check }) => ({
      id,
      title,
      async run() {
        const platform = new ManualPlatform();
        const { service, close } = await makeService({ platform });
        try {
          await check({ service, platform, expect: new Expect(id) });
        } finally {
          await close?.();
        }
      },
    }));
}
