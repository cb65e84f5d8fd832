import { describe, expect, test } from 'vitest';
import * as core from '../index.ts';
import { AgentError } from './agent-error.ts';
import { EventloomError } from './eventloom-error.ts';
import { InvalidEventError } from './invalid-event-error.ts';
import { ModelError } from './model-error.ts';
import { SessionBusyError } from './session-busy-error.ts';
import { SessionNotFoundError } from './session-not-found-error.ts';

type ErrorClass = { readonly code: string; isInstance(value: unknown): boolean } & (new (
  message: string,
  options: { errorCode: string; cause?: unknown; retryable?: boolean },
) => EventloomError);

/** Every error that the package exports. */
const CLASSES = Object.entries<unknown>({ ...core }).filter((entry): entry is [string, ErrorClass] => {
  const [, value] = entry;
  return typeof value === 'function' && value.prototype instanceof EventloomError;
});

/** An error as another copy of the package makes it: nothing but the registered symbol and the code in common. */
function foreign(code: string): unknown {
  return Object.assign(new Error('from elsewhere'), { [Symbol.for('eventloom.error')]: true, code });
}

describe.each(CLASSES)('%s', (name, SomeError) => {
  test('is an Error with its name, its code and its cause', () => {
    const cause = new TypeError('why');
    const error = new SomeError('what', { errorCode: 'X', cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ message: 'what', name, code: SomeError.code, cause });
    expect('cause' in new SomeError('what', { errorCode: 'X' })).toBe(false);
  });

  test('knows its own, of another copy of the package too, and no other', () => {
    for (const [, Other] of CLASSES) {
      expect(SomeError.isInstance(new Other('what', { errorCode: 'X' }))).toBe(Other === SomeError);
      expect(SomeError.isInstance(foreign(Other.code))).toBe(Other === SomeError);
    }
  });

  test('says whether to try again, as it is told', () => {
    expect(new SomeError('what', { errorCode: 'X', retryable: true }).retryable).toBe(true);
    expect(new SomeError('what', { errorCode: 'X', retryable: false }).retryable).toBe(false);
  });
});

test('no two errors share a code, and codes are upper snake case', () => {
  const codes = CLASSES.map(([, SomeError]) => SomeError.code);
  expect(CLASSES.length).toBeGreaterThan(15);
  expect(new Set(codes).size).toBe(codes.length);
  for (const code of [...codes, EventloomError.code]) expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
});

describe('EventloomError.isInstance', () => {
  test('is true for every error of this project', () => {
    expect(EventloomError.isInstance(new AgentError('a'))).toBe(true);
    expect(EventloomError.isInstance(foreign('SOMEDAY'))).toBe(true);
  });

  test.each([undefined, null, 'AGENT', 5, {}, { code: 'AGENT' }, new Error('AGENT')])('is false for %o', (value) => {
    expect(EventloomError.isInstance(value)).toBe(false);
    expect(AgentError.isInstance(value)).toBe(false);
  });
});

test('most errors are not worth another try, a busy session is', () => {
  expect(new SessionNotFoundError('s').retryable).toBe(false);
  expect(new SessionBusyError('s').retryable).toBe(true);
  expect(new SessionBusyError('s', { cause: 1 }).retryable).toBe(true);
});

test('a model error says what the service said', () => {
  const error = new ModelError('slow down', { errorCode: 'RESOURCE_EXHAUSTED', status: 429, retryAfterMs: 1500 });
  expect(error).toMatchObject({ errorCode: 'RESOURCE_EXHAUSTED', status: 429, retryAfterMs: 1500, retryable: false });
  expect(new ModelError('no', { errorCode: 'X' })).toMatchObject({ status: undefined, retryAfterMs: undefined });
});

test('an invalid event says at which path', () => {
  expect(new InvalidEventError('event.id: must be a string', { path: 'event.id' }).path).toBe('event.id');
  expect(new InvalidEventError('no').path).toBeUndefined();
});
