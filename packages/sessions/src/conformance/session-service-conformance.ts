import { ConfigurationError } from '@eventloom/core';
import { appendConcurrencyRules } from './append-concurrency-rules.ts';
import { appendRules } from './append-rules.ts';
import type { ConformanceCase, MakeSessionService } from './conformance-case.ts';
import { ConformanceError } from './conformance-error.ts';
import { Expect } from './expect.ts';
import { leaseRules } from './lease-rules.ts';
import { leaseTimeRules } from './lease-time-rules.ts';
import { queuedWriterRules } from './queued-writer-rules.ts';
import { sessionNameRules } from './session-name-rules.ts';
import { leaseQueueRules } from './lease-queue-rules.ts';
import { ledgerRules } from './ledger-rules.ts';
import { listRules } from './list-rules.ts';
import { ManualPlatform } from './manual-platform.ts';
import { sessionRules } from './session-rules.ts';
import { stateKeyRules } from './state-key-rules.ts';
import { stateRules } from './state-rules.ts';
import { windowRules } from './window-rules.ts';

/** How the cases are run, and what a back end does otherwise, on purpose. */
export interface SessionConformanceOptions {
  /** Case id to the reason why the back end does not keep it. Such cases are left out. */
  readonly deviations?: Readonly<Record<string, string>>;
  /** Real milliseconds after which a case that does not end fails; default 20,000. */
  readonly hangMs?: number;
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
    ...sessionNameRules,
    ...stateRules,
    ...stateKeyRules,
    ...appendRules,
    ...appendConcurrencyRules,
    ...windowRules,
    ...listRules,
    ...leaseRules,
    ...leaseTimeRules,
    ...leaseQueueRules,
    ...queuedWriterRules,
    ...ledgerRules,
  ];
  const { deviations = {}, hangMs = 20_000 } = options;
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
        const subject = await makeService({ platform });
        try {
          await withinTime(id, hangMs, check({ service: subject.service, platform, expect: new Expect(id) }));
        } catch (error) {
          throw ConformanceError.isInstance(error) ? error : new ConformanceError(id, 'the case', 'no error', error);
        } finally {
          await subject.close?.();
        }
      },
    }));
}

/** A call that never answers is a fault like any other, and is told by the case it is in. */
async function withinTime(id: string, hangMs: number, work: Promise<void>): Promise<void> {
  let timer: unknown;
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConformanceError(id, 'the case', 'an end', `none in ${hangMs} ms`)), hangMs);
  });
  try {
    await Promise.race([work, hang]);
  } finally {
    clearTimeout(timer as number);
  }
}
