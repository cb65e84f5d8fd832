import type { ToolLedgerEntry } from '@eventloom/core';
import { brokenDriver, brokenService, type Mutant } from './mutant.ts';

function withoutActions({ invocationId, callId, name, status, response }: ToolLedgerEntry): ToolLedgerEntry {
  return { invocationId, callId, name, status, ...(response ? { response } : {}) };
}

export const ledgerMutants: readonly Mutant[] = [
  brokenDriver('ledger.start-then-finish', 'loses the response', (driver) => ({
    listToolCalls: (key, invocationId) =>
      driver
        .listToolCalls(key, invocationId)
        .map(({ callId, name, status }) => ({ invocationId, callId, name, status })),
  })),
  brokenDriver('ledger.start-then-finish', 'records the start only', (driver) => ({
    recordToolCall: (lease, entry) => entry.status === 'finished' || driver.recordToolCall(lease, entry),
  })),
  brokenDriver('ledger.actions', 'loses what a call changed', (driver) => ({
    recordToolCall: (lease, entry) => driver.recordToolCall(lease, withoutActions(entry)),
  })),
  brokenDriver('ledger.actions', 'keeps the actions of a call with a response only', (driver) => ({
    recordToolCall: (lease, entry) => driver.recordToolCall(lease, entry.response ? entry : withoutActions(entry)),
  })),
  brokenDriver('ledger.parts', 'loses the media of a response', (driver) => ({
    recordToolCall(lease, entry) {
      const { parts: _, ...withoutParts } = entry;
      return driver.recordToolCall(lease, withoutParts);
    },
  })),
  brokenDriver('ledger.finished-stays', 'lets the last record win', () => {
    const calls = new Map<string, ToolLedgerEntry>();
    return {
      recordToolCall(_, entry) {
        calls.set(entry.callId, entry);
        return true;
      },
      listToolCalls: () => [...calls.values()],
    };
  }),
  brokenDriver('ledger.without-response', 'makes up an empty response', (driver) => ({
    listToolCalls: (key, invocationId) =>
      driver.listToolCalls(key, invocationId).map((entry) => ({ response: {}, ...entry })),
  })),
  brokenDriver('ledger.order', 'lists calls by id', (driver) => ({
    listToolCalls: (key, invocationId) =>
      driver.listToolCalls(key, invocationId).toSorted((one, other) => (one.callId < other.callId ? -1 : 1)),
  })),
  brokenDriver('ledger.order', 'lists calls as they ended', (driver) => ({
    listToolCalls: (key, invocationId) =>
      driver.listToolCalls(key, invocationId).toSorted((one, other) => (one.status < other.status ? -1 : 1)),
  })),
  brokenDriver('ledger.invocations-apart', 'overlooks the invocation', (driver) => ({
    recordToolCall: (lease, entry) => driver.recordToolCall(lease, { ...entry, invocationId: 'any' }),
    listToolCalls: (key) => driver.listToolCalls(key, 'any'),
  })),
  brokenDriver('ledger.invocations-apart', 'overlooks the session', () => {
    const calls: ToolLedgerEntry[] = [];
    return {
      recordToolCall: (_, entry) => calls.push(entry) > 0,
      listToolCalls: (_, invocationId) => calls.filter((entry) => entry.invocationId === invocationId),
    };
  }),
  brokenDriver('ledger.own-copy', 'lists what it stored', () => {
    const calls: ToolLedgerEntry[] = [];
    return { recordToolCall: (_, entry) => calls.push(entry) > 0, listToolCalls: () => calls };
  }),
  brokenService('ledger.bad-entries-refused', 'overlooks a bad entry', (service) => ({
    recordToolCall: (lease, entry) => service.recordToolCall(lease, entry).catch(() => undefined),
  })),
];
