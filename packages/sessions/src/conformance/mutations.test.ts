import type { BaseSessionService } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { InMemorySessionService } from '../in-memory-session-service.ts';
import {
  type ConformanceCase,
  ConformanceError,
  type MakeService,
  sessionServiceConformance,
  sessionTransferConformance,
} from './index.ts';
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
import type { Mutant } from './mutants/mutant.ts';
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

const mutants: readonly Mutant[] = [
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

/** Expects that the case of this rule fails, and that its error names the rule. */
async function expectBroken(cases: readonly ConformanceCase[], breaks: string): Promise<void> {
  const found = cases.find(({ id }) => id === breaks);
  const failure = await found?.run().then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(ConformanceError.isInstance(failure), String(failure)).toBe(true);
  expect(failure).toMatchObject({ rule: breaks });
}

describe('a broken service fails the case of the rule it breaks', () => {
  for (const { breaks, how, make } of mutants) {
    test(`${breaks} notices a service that ${how}`, () =>
      expectBroken(sessionServiceConformance(make, { hangMs: 500 }), breaks));
  }
});

describe('a broken service fails the case about transfers to it', () => {
  for (const { breaks, how, make } of transferMutants) {
    test(`${breaks} notices a service that ${how}`, () =>
      expectBroken(sessionTransferConformance(makeGood, make), breaks));
  }
});

describe('sessions go from one service in memory to another without loss', () => {
  for (const { id, title, run } of sessionTransferConformance(makeGood, makeGood)) test(`${id}: ${title}`, run);
});

test('every rule has a service that breaks it', () => {
  const notCalled = () => Promise.reject(new TypeError('not called'));
  const rules = [...sessionServiceConformance(notCalled), ...sessionTransferConformance(notCalled, notCalled)];
  const broken = new Set([...mutants, ...transferMutants].map(({ breaks }) => breaks));
  expect(rules.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([]);
});
