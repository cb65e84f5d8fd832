// Session services that need no runtime beyond web standards, and the interface for your own storage.

// Drivers
export type { MaybePromise } from '@eventloom/core';

// Session services
export type { InMemorySessionServiceOptions } from './in-memory-session-service.ts';
export { InMemorySessionService } from './in-memory-session-service.ts';

// Drivers
export type { DriverSessionServiceOptions } from './driver-session-service.ts';
export { DriverSessionService } from './driver-session-service.ts';

// Parts of a driver
export { compareText } from './compare-text.ts';
export { selectEvents } from './select-events.ts';
export type { WebhookHold } from './run-webhooks.ts';
export { changeWebhook, putWebhook, selectWebhooks } from './run-webhooks.ts';
export { selectOpenRunPage, selectSessionPage } from './select-page.ts';
export type { RunTable, RunTaken, SessionHold, StoredTicket } from './session-hold.ts';
export {
  endLease,
  findRecord,
  isLeaseLive,
  keepLease,
  recordCancelled,
  refusedAppend,
  takeLease,
  takeRun,
  withdrawTicket,
} from './session-hold.ts';

// Session services
export { parseSessionLines, toSessionLines } from './session-lines.ts';

// Drivers
export type { ClaimOutcome, ClaimRefusal, LeaseClaim, LeaseTicket, TakenLease } from './lease-claim.ts';
export type {
  AppendOutcome,
  BeginOutcome,
  CreatedSession,
  AppendCheck,
  EventAppend,
  EventWindow,
  ListedSession,
  OpenRunPage,
  RecordChanges,
  OpenRunPosition,
  RunClaim,
  RunEnd,
  RunMessage,
  RunRefusal,
  RunWebhookPage,
  SessionBackground,
  SessionCreation,
  SessionDriver,
  SessionImport,
  SessionPage,
  SessionPosition,
  StateEntry,
  StoredEventWindow,
  StoredRun,
  StoredSession,
  TakenRun,
} from './session-driver.ts';
export { checkStateSize } from './state-limit.ts';
