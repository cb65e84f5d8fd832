import { isRecord } from '@eventloom/core/internal';
import type { AppStateChange, PendingAppState } from '@eventloom/sessions/durable-object';

/** The request that a user's object sends to its app's object: changes to store, and the version it already has. */
export interface AppStateExchange {
  /** Identifies the user's object. The `seq` of pending changes counts per sender. */
  readonly sender: string;
  readonly knownVersion: number;
  readonly pending: readonly PendingAppState[];
}

/** The response to an `AppStateExchange`. */
export interface AppStateResponse {
  /** Changes after `knownVersion`, in the order they were written. */
  readonly changes: readonly AppStateChange[];
  /** The version that the sender has after applying `changes`. */
  readonly version: number;
  readonly hasMore: boolean;
}

export function isAppStateExchange(value: unknown): value is AppStateExchange {
  if (!isRecord(value)) return false;
  const { sender, knownVersion, pending } = value;
  return typeof sender === 'string' && isCount(knownVersion) && Array.isArray(pending) && pending.every(isPending);
}

export function isAppStateResponse(value: unknown): value is AppStateResponse {
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
