import type { ToolLedgerEntry } from '@eventloom/core';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';

function withoutActions({ invocationId, entryId, name, status, response }: ToolLedgerEntry): ToolLedgerEntry {
  return { invocationId, entryId, name, status, ...(response ? { response } : {}) };
}

export const ledgerMutants: readonly SessionMutant[] = [
  brokenDriver('ledger.start-then-finish', 'drops the response', (driver) => ({
    listToolCalls: (key, invocationId) =>
      driver
        .listToolCalls(key, invocationId)
        .map(({ entryId, name, status }) => ({ invocationId, entryId, name, status })),
  })),
  brokenDriver('ledger.start-then-finish', 'records only the start of a call', (driver) => ({
    recordToolCall: (lease, entry) => entry.status === 'finished' || driver.recordToolCall(lease, entry),
  })),
  brokenDriver('ledger.actions', 'drops the actions of a call', (driver) => ({
    recordToolCall: (lease, entry) => driver.recordToolCall(lease, withoutActions(entry)),
  })),
  brokenDriver('ledger.actions', 'drops actions of calls without a response', (driver) => ({
    recordToolCall: (lease, entry) => driver.recordToolCall(lease, entry.response ? entry : withoutActions(entry)),
  })),
  brokenDriver('ledger.parts', 'drops the parts of a response', (driver) => ({
    recordToolCall(lease, entry) {
      const { parts: _, ...withoutParts } = entry;
      return driver.recordToolCall(lease, withoutParts);
    },
  })),
  brokenDriver('ledger.finished-stays', 'replaces a finished entry', () => {
    const calls = new Map<string, ToolLedgerEntry>();
    return {
      recordToolCall(_, entry) {
        calls.set(entry.entryId, entry);
        return true;
      },
      listToolCalls: () => [...calls.values()],
    };
  }),
  brokenDriver('ledger.without-response', 'stores an empty response instead of none', (driver) => ({
    listToolCalls: (key, invocationId) =>
      driver.listToolCalls(key, invocationId).map((entry) => ({ response: {}, ...entry })),
  })),
  brokenDriver('ledger.order', 'lists calls by id', (driver) => ({
    listToolCalls: (key, invocationId) =>
      driver.listToolCalls(key, invocationId).toSorted((one, other) => (one.entryId < other.entryId ? -1 : 1)),
  })),
  brokenDriver('ledger.order', 'lists calls in the order of their ends', (driver) => ({
    listToolCalls: (key, invocationId) =>
      driver.listToolCalls(key, invocationId).toSorted((one, other) => (one.status < other.status ? -1 : 1)),
  })),
  brokenDriver('ledger.at-once', 'drops calls that are recorded while another is', (driver) => {
    let isRecording = false;
    return {
      async recordToolCall(lease, entry) {
        if (isRecording) return true;
        isRecording = true;
        await Promise.resolve();
        isRecording = false;
        return driver.recordToolCall(lease, entry);
      },
    };
  }),
  brokenDriver('ledger.at-once', 'stores only the last entry of each moment', (driver) => {
    let last: (() => boolean) | undefined;
    return {
      async recordToolCall(lease, entry) {
        last = () => driver.recordToolCall(lease, entry);
        await Promise.resolve();
        const isLive = last?.() ?? true;
        last = undefined;
        return isLive;
      },
    };
  }),
  brokenDriver('ledger.invocations-apart', 'ignores the invocation id', (driver) => ({
    recordToolCall: (lease, entry) => driver.recordToolCall(lease, { ...entry, invocationId: 'any' }),
    listToolCalls: (key) => driver.listToolCalls(key, 'any'),
  })),
  brokenDriver('ledger.invocations-apart', 'ignores the session id', () => {
    const calls: ToolLedgerEntry[] = [];
    return {
      recordToolCall: (_, entry) => calls.push(entry) > 0,
      listToolCalls: (_, invocationId) => calls.filter((entry) => entry.invocationId === invocationId),
    };
  }),
  brokenDriver('ledger.own-copy', 'returns the stored objects', () => {
    const calls: ToolLedgerEntry[] = [];
    return { recordToolCall: (_, entry) => calls.push(entry) > 0, listToolCalls: () => calls };
  }),
  brokenService('ledger.bad-entries-refused', 'skips an invalid entry', (service) => ({
    recordToolCall: (lease, entry) => service.recordToolCall(lease, entry).catch(() => undefined),
  })),
];
