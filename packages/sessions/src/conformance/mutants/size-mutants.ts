import {
  type Event,
  InvalidRequestError,
  type SessionKey,
  SizeLimitError,
  type ToolLedgerEntry,
} from '@eventloom/core';
import type { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import type { AppendOutcome, CreatedSession, EventAppend, EventWindow, SessionImport } from '../../session-driver.ts';
import { brokenEvents } from './broken-events.ts';
import { LimitedDriver, limitedService, MAX_BYTES } from './limited-driver.ts';
import { brokenDriver, type SessionMutant } from './mutant.ts';
import { brokenSharing } from './shared-driver.ts';

export const sizeMutants: readonly SessionMutant[] = [
  brokenDriver('size.state', 'truncates long text', (driver) => ({
    readSession(key, window) {
      const stored = driver.readSession(key, window);
      return stored && { ...stored, state: stored.state.map((entry) => ({ ...entry, value: cut(entry.value) })) };
    },
  })),
  brokenDriver('size.state-total', 'stores any number of values in single appends', (driver) => ({
    appendEvent: (append) => driver.appendEvent({ ...append, writes: append.writes.slice(0, 1) }),
  })),
  brokenDriver('size.state-total', 'counts values that an import does not write', (driver) => ({
    importSession(session) {
      if (session.sessionId === 'imported') throw new SizeLimitError('too large');
      return driver.importSession(session);
    },
  })),
  brokenSharing('size.state-of-others', 'stores any number of values in single appends', (driver) => ({
    appendEvent: (append) =>
      driver.appendEvent({ ...append, writes: append.writes.filter(({ key }) => key !== 'more') }),
  })),
  brokenDriver('size.check', 'accepts every state', () => ({ checkAppend: () => undefined })),
  brokenDriver('size.check', 'writes the state of the app', (driver) => ({
    checkAppend(check) {
      driver.checkAppend(check);
      const writes = check.writes.filter(({ scope }) => scope === 'app');
      driver.createSession({ ...check, sessionId: 'checked', writes });
    },
  })),
  brokenDriver('size.check', 'takes the session over', (driver) => ({
    checkAppend(check) {
      driver.checkAppend(check);
      driver.claimLease({ ...check, ttlMs: 1000, takeOver: true, ticket: undefined });
    },
  })),
  brokenDriver('size.check', 'refuses events for a session that does not exist', (driver) => ({
    checkAppend(check) {
      driver.checkAppend(check);
      if (!driver.findRun(check, 'e-1')) throw new SizeLimitError('the session does not exist');
    },
  })),
  brokenEvents('size.events', 'truncates long text', (events) =>
    events.map((event): Event => {
      const text = event.content?.parts?.[0]?.text;
      return { ...event, content: { parts: [{ text: String(cut(text)) }] } };
    }),
  ),
  brokenDriver('size.count-within', 'counts all events', () => ({ countWithin: () => 1000 })),
  brokenDriver('size.count-within', 'counts no event that is too large', () => ({ countWithin: () => 0 })),
  brokenDriver('size.count-within', 'counts from the oldest', (driver) => ({
    countWithin: (key, window, maxBytes) => countFrom(driver, key, { ...window, limit: undefined }, maxBytes),
  })),
  brokenDriver('size.tool-responses', 'truncates long text', (driver) => ({
    listToolCalls: (key, invocationId) =>
      driver
        .listToolCalls(key, invocationId)
        .map((call) => ({ ...call, response: { text: cut(call.response?.['text']) } })),
  })),
  brokenLimit('size.limit-reached', 'refuses a value of exactly the limit', () => new LimitedDriver(MAX_BYTES - 1)),
  brokenLimit(
    'size.calls-apart',
    'refuses all calls of a moment together',
    () =>
      new (class extends LimitedDriver {
        #refused: SizeLimitError | undefined;

        override checkToolCall(entry: ToolLedgerEntry): void {
          if (this.#refused) throw this.#refused;
          try {
            super.checkToolCall(entry);
          } catch (error) {
            if (SizeLimitError.isInstance(error)) this.#refused = error;
            throw error;
          }
        }
      })(MAX_BYTES),
  ),
  brokenLimit(
    'size.limit-passed',
    'counts characters',
    () =>
      new (class extends LimitedDriver {
        override sizeOf(json: string): number {
          return json.length;
        }
      })(MAX_BYTES),
  ),
  brokenLimit(
    'size.limit-passed',
    'accepts tool responses of any size',
    () =>
      new (class extends LimitedDriver {
        override checkToolCall(): void {}
      })(MAX_BYTES),
  ),
  brokenLimit(
    'size.limit-passed',
    'accepts imports of any size',
    () =>
      new (class extends LimitedDriver {
        override importSession(session: SessionImport): CreatedSession | undefined {
          return Object.getPrototypeOf(LimitedDriver.prototype).importSession.call(this, session);
        }
      })(MAX_BYTES),
  ),
  brokenLimit(
    'size.limit-passed',
    'writes state before it checks the event',
    () =>
      new (class extends LimitedDriver {
        override appendEvent(append: EventAppend): AppendOutcome {
          const small = append.writes.filter(({ key }) => key !== 'large');
          super.appendEvent({ ...append, event: { ...append.event, id: 'ghost', content: {} }, writes: small });
          return super.appendEvent(append);
        }
      })(MAX_BYTES),
  ),
  brokenLimit(
    'size.limit-passed',
    'throws InvalidRequestError',
    () =>
      new (class extends LimitedDriver {
        override check(what: string, value: unknown): void {
          try {
            super.check(what, value);
          } catch (cause) {
            throw new InvalidRequestError('too large', { cause });
          }
        }
      })(MAX_BYTES),
  ),
];

function brokenLimit(breaks: string, how: string, makeDriver: () => InMemorySessionDriver): SessionMutant {
  return { breaks, how, make: limitedService(makeDriver) };
}

/** Counts like `SessionDriver.countWithin`. */
function countFrom(driver: InMemorySessionDriver, key: SessionKey, window: EventWindow, maxBytes: number): number {
  const events = driver.readEvents(key, window)?.events ?? [];
  let bytes = 0;
  const counted = (window.limit === undefined ? events : events.toReversed()).filter(
    (event) => (bytes += JSON.stringify(event).length) <= maxBytes,
  );
  return Math.max(1, counted.length);
}

function cut(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, 65_535);
  if (typeof value !== 'object' || value === null || !('text' in value)) return value;
  return { ...value, text: cut(value.text) };
}
