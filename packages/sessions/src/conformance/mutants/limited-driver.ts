import {
  type BaseSessionService,
  type Event,
  type SessionLease,
  SizeLimitError,
  type StateWrite,
  type ToolLedgerEntry,
} from '@eventloom/core';
import type { MakeService } from '@eventloom/core/conformance';
import { DriverSessionService } from '../../driver-session-service.ts';
import { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import type {
  AppendOutcome,
  CreatedSession,
  EventAppend,
  SessionCreation,
  SessionImport,
} from '../../session-driver.ts';

const encoder = new TextEncoder();

/** A driver in memory that stores nothing larger than a limit. */
export class LimitedDriver extends InMemorySessionDriver {
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    super();
    this.#maxBytes = maxBytes;
  }

  override createSession(creation: SessionCreation): CreatedSession | undefined {
    this.checkWrites(creation.writes);
    return super.createSession(creation);
  }

  override importSession(session: SessionImport): CreatedSession | undefined {
    this.checkWrites([...session.state, ...session.initialState, ...session.sharedState]);
    for (const event of session.events) this.checkEvent(event);
    for (const call of session.toolCalls) this.checkToolCall(call);
    return super.importSession(session);
  }

  override appendEvent(append: EventAppend): AppendOutcome {
    this.checkEvent(append.event);
    this.checkWrites(append.writes);
    return super.appendEvent(append);
  }

  override appendEvents(appends: readonly EventAppend[]): AppendOutcome[] {
    for (const { event, writes } of appends) {
      this.checkEvent(event);
      this.checkWrites(writes);
    }
    return super.appendEvents(appends);
  }

  override recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): boolean {
    this.checkToolCall(entry);
    return super.recordToolCall(lease, entry);
  }

  checkWrites(writes: readonly StateWrite[]): void {
    for (const { key, value } of writes) this.check(key, value);
  }

  checkEvent(event: Event): void {
    this.check(event.id, event);
  }

  checkToolCall({ entryId, response }: ToolLedgerEntry): void {
    this.check(entryId, response);
  }

  sizeOf(json: string): number {
    return encoder.encode(json).length;
  }

  check(what: string, value: unknown): void {
    if (value === undefined || this.sizeOf(JSON.stringify(value)) <= this.#maxBytes) return;
    throw new SizeLimitError(`${what}: takes more than ${this.#maxBytes} bytes`);
  }
}

/** The limit that the suite gets. */
export const MAX_BYTES = 1_100_000;

/** Creates a service whose driver has the limit. */
export function limitedService(
  makeDriver: () => InMemorySessionDriver = () => new LimitedDriver(MAX_BYTES),
): MakeService<BaseSessionService> {
  return async ({ platform }) => ({
    service: new DriverSessionService(makeDriver(), { platform }),
    maxBytes: MAX_BYTES,
  });
}
