// Session services that need no runtime beyond web standards, and the seam for storage of one's own.

export type { InMemorySessionServiceOptions } from './in-memory-session-service.ts';
export { InMemorySessionService } from './in-memory-session-service.ts';
export type { DriverSessionServiceOptions } from './driver-session-service.ts';
export { DriverSessionService } from './driver-session-service.ts';
export { parseSessionLines, toSessionLines } from './session-lines.ts';
export type {
  AppendOutcome,
  ClaimOutcome,
  CreatedSession,
  EventAppend,
  EventWindow,
  LeaseClaim,
  MaybePromise,
  SessionBackground,
  SessionCreation,
  SessionDriver,
  SessionImport,
  SessionPage,
  SessionPosition,
  StateEntry,
  StoredEventWindow,
  StoredSession,
} from './session-driver.ts';
