import { isRecord } from '@eventloom/core';
import type { AppStateChange, PendingAppState } from '@eventloom/sessions/durable-object';

/** What a user's object tells the object of its app: what was written, and how much it knows already. */
export interface AppStateExchange {
  /** Who delivers: numbers of changes are its own. */
  readonly sender: string;
  readonly knownVersion: number;
  readonly pending: readonly PendingAppState[];
}

/** What it is answered. */
export interface AppStateAnswer {
  /** What comes after `knownVersion`, in the order it was written. */
  readonly changes: readonly AppStateChange[];
  /** Up to which version these go. */
  readonly version: number;
  readonly hasMore: boolean;
}

export function isAppStateExchange(value: unknown): value is AppStateExchange {
  if (!isRecord(value)) return false;
  const { sender, knownVersion, pending } = value;
  return typeof sender === 'string' && isCount(knownVersion) && Array.isArray(pending) && pending.every(isPending);
}

export function isAppStateAnswer(value: unknown): value is AppStateAnswer {
  if (!isRecord(value)) return false;
  const { changes, version, hasMore } = value;
  return Array.isArray(changes) && changes.every(isChange) && isCount(version) && typeof hasMore === 'boolean';
}

function isPending(value: unknown): boolean {
  return isChange(value) && isCount(value['seq']) && isCount(value['writtenMs']);
}

function isChange(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  return typeof value['key'] === 'string' && (value['value'] === null || typeof value['value'] === 'string');
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
