import type { BaseSessionService } from '@eventloom/core';
import {
  type ConformanceCase,
  conformanceCases,
  type ConformanceOptions,
  type MakeService,
} from '@eventloom/core/conformance';
import { appendConcurrencyRules } from './append-concurrency-rules.ts';
import { appendsRules } from './appends-rules.ts';
import { appendRules } from './append-rules.ts';
import { appendValueRules } from './append-value-rules.ts';
import { compactionWindowRules } from './compaction-window-rules.ts';
import { eventFaultRules } from './event-fault-rules.ts';
import { eventPageRules } from './event-page-rules.ts';
import { exportRules } from './export-rules.ts';
import { importFaultRules } from './import-fault-rules.ts';
import { importRules } from './import-rules.ts';
import { leaseLineRules } from './lease-line-rules.ts';
import { leaseRules } from './lease-rules.ts';
import { leaseTimeRules } from './lease-time-rules.ts';
import { openRunListRules } from './open-run-list-rules.ts';
import { openRunClaimRules } from './open-run-claim-rules.ts';
import { openRunRules } from './open-run-rules.ts';
import { queuedWriterRules } from './queued-writer-rules.ts';
import { sessionNameRules } from './session-name-rules.ts';
import { leaseQueueRules } from './lease-queue-rules.ts';
import { ledgerRules } from './ledger-rules.ts';
import { listRules } from './list-rules.ts';
import { promisedMaker } from './session-rule.ts';
import { runRecordRules } from './run-record-rules.ts';
import { runRules } from './run-rules.ts';
import { runWebhookRules } from './run-webhook-rules.ts';
import { sessionRules } from './session-rules.ts';
import { sizeRules } from './size-rules.ts';
import { stateKeyRules } from './state-key-rules.ts';
import { stateRules } from './state-rules.ts';
import { windowRules } from './window-rules.ts';

/**
 * Returns the contract of `BaseSessionService` as cases for any test runner: run each; a broken rule rejects with a ConformanceError that
 * names it. Every case creates its own service.
 *
 * ```ts
 * for (const { id, title, run } of sessionServiceConformance(makeService)) test(`${id}: ${title}`, run);
 * ```
 * @throws ConfigurationError for a deviation from a case that does not exist
 */
export function sessionServiceConformance(
  makeService: MakeService<BaseSessionService>,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  const rules = [
    ...sessionRules,
    ...sessionNameRules,
    ...stateRules,
    ...stateKeyRules,
    ...appendRules,
    ...appendsRules,
    ...appendValueRules,
    ...appendConcurrencyRules,
    ...windowRules,
    ...compactionWindowRules,
    ...eventPageRules,
    ...listRules,
    ...leaseRules,
    ...leaseTimeRules,
    ...leaseQueueRules,
    ...leaseLineRules,
    ...queuedWriterRules,
    ...openRunRules,
    ...openRunClaimRules,
    ...openRunListRules,
    ...runRules,
    ...runRecordRules,
    ...runWebhookRules,
    ...ledgerRules,
    ...exportRules,
    ...importRules,
    ...importFaultRules,
    ...eventFaultRules,
    ...sizeRules,
  ];
  return conformanceCases(rules, promisedMaker(makeService), options);
}
