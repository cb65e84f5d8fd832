import type { BaseSessionService } from '@eventloom/core';
import { mutationCases } from '@eventloom/core/conformance';
import { describe, test } from 'vitest';
import { InMemorySessionService } from '../in-memory-session-service.ts';
import { type MakeService, sessionServiceConformance, sessionTransferConformance } from './index.ts';
import { appendsMutants } from './mutants/appends-mutants.ts';
import { appendMutants } from './mutants/append-mutants.ts';
import { appendValueMutants } from './mutants/append-value-mutants.ts';
import { compactionWindowMutants } from './mutants/compaction-window-mutants.ts';
import { eventFaultMutants } from './mutants/event-fault-mutants.ts';
import { eventPageMutants } from './mutants/event-page-mutants.ts';
import { exportMutants } from './mutants/export-mutants.ts';
import { importFaultMutants } from './mutants/import-fault-mutants.ts';
import { importMutants } from './mutants/import-mutants.ts';
import { leaseLineMutants } from './mutants/lease-line-mutants.ts';
import { leaseMutants } from './mutants/lease-mutants.ts';
import { ledgerMutants } from './mutants/ledger-mutants.ts';
import { listMutants } from './mutants/list-mutants.ts';
import type { SessionMutant } from './mutants/mutant.ts';
import { openRunListMutants } from './mutants/open-run-list-mutants.ts';
import { openRunMutants } from './mutants/open-run-mutants.ts';
import { queueMutants } from './mutants/queue-mutants.ts';
import { runMutants } from './mutants/run-mutants.ts';
import { runRecordMutants } from './mutants/run-record-mutants.ts';
import { runWebhookMutants } from './mutants/run-webhook-mutants.ts';
import { sessionMutants } from './mutants/session-mutants.ts';
import { sizeMutants } from './mutants/size-mutants.ts';
import { stateMutants } from './mutants/state-mutants.ts';
import { transferMutants } from './mutants/transfer-mutants.ts';
import { windowMutants } from './mutants/window-mutants.ts';

const mutants: readonly SessionMutant[] = [
  ...sessionMutants,
  ...stateMutants,
  ...appendMutants,
  ...appendsMutants,
  ...appendValueMutants,
  ...windowMutants,
  ...compactionWindowMutants,
  ...eventPageMutants,
  ...listMutants,
  ...leaseMutants,
  ...leaseLineMutants,
  ...queueMutants,
  ...openRunMutants,
  ...openRunListMutants,
  ...runMutants,
  ...runRecordMutants,
  ...runWebhookMutants,
  ...ledgerMutants,
  ...exportMutants,
  ...importMutants,
  ...importFaultMutants,
  ...eventFaultMutants,
  ...sizeMutants,
];

const makeGood: MakeService<BaseSessionService> = async ({ platform }) => ({
  service: new InMemorySessionService({ platform }),
});

const suite = (make: MakeService<BaseSessionService>) => sessionServiceConformance(make, { hangMs: 500 });
const transfersTo = (make: MakeService<BaseSessionService>) => sessionTransferConformance(makeGood, make);

test.each(mutationCases(suite, mutants))('$id $title', ({ run }) => run());

test.each(mutationCases(transfersTo, transferMutants))('$id $title, to which sessions go', ({ run }) => run());

describe('sessions go from one service in memory to another without loss', () => {
  for (const { id, title, run } of sessionTransferConformance(makeGood, makeGood)) test(`${id}: ${title}`, run);
});
