import { describe, expect, test } from 'vitest';
import * as core from './index.ts';
import { AgentError, EventloomError, InvalidEventError, ModelError, toError } from './errors.ts';

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
  test('is an Error with its name, code and cause', () => {
    const cause = new TypeError('why');
    const error = new SomeError('what', { errorCode: 'X', cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ message: 'what', name, code: SomeError.code, cause });
    expect('cause' in new SomeError('what', { errorCode: 'X' })).toBe(false);
  });

  test('isInstance is true for the class only, also for errors of another copy of the package', () => {
    for (const [, Other] of CLASSES) {
      expect(SomeError.isInstance(new Other('what', { errorCode: 'X' }))).toBe(Other === SomeError);
      expect(SomeError.isInstance(foreign(Other.code))).toBe(Other === SomeError);
    }
  });

  test('takes retryable from its options', () => {
    expect(new SomeError('what', { errorCode: 'X', retryable: true }).retryable).toBe(true);
    expect(new SomeError('what', { errorCode: 'X', retryable: false }).retryable).toBe(false);
  });
});

test('each error has its own code, in upper snake case', () => {
  const codes = CLASSES.map(([, SomeError]) => SomeError.code);
  expect(CLASSES.length).toBeGreaterThan(15);
  expect(new Set(codes).size).toBe(codes.length);
  for (const code of [...codes, EventloomError.code]) expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
});

describe('EventloomError.isInstance', () => {
  test('is true for every error of Eventloom', () => {
    expect(EventloomError.isInstance(new AgentError('a'))).toBe(true);
    expect(EventloomError.isInstance(foreign('SOMEDAY'))).toBe(true);
  });

  test.each([undefined, null, 'AGENT', 5, {}, { code: 'AGENT' }, new Error('AGENT')])('is false for %o', (value) => {
    expect(EventloomError.isInstance(value)).toBe(false);
    expect(AgentError.isInstance(value)).toBe(false);
  });
});

test('retryable defaults to true only for busy sessions, unavailable storage, unavailable toolsets and a shutdown', () => {
  const retryable = CLASSES.filter(([, SomeError]) => new SomeError('what', { errorCode: 'X', cause: 1 }).retryable);
  expect(retryable.map(([name]) => name).toSorted()).toEqual([
    'SessionBusyError',
    'ShuttingDownError',
    'StorageError',
    'ToolsetUnavailableError',
  ]);
});

test('a model error keeps the error code, status and delay of the service', () => {
  const error = new ModelError('slow down', { errorCode: 'RESOURCE_EXHAUSTED', status: 429, retryAfterMs: 1500 });
  expect(error).toMatchObject({ errorCode: 'RESOURCE_EXHAUSTED', status: 429, retryAfterMs: 1500, retryable: false });
  expect(new ModelError('no', { errorCode: 'X' })).toMatchObject({ status: undefined, retryAfterMs: undefined });
});

test('an invalid event error keeps the path', () => {
  expect(new InvalidEventError('event.id: expected a string', { path: 'event.id' }).path).toBe('event.id');
  expect(new InvalidEventError('no').path).toBeUndefined();
});

test('toError returns an error unchanged, and wraps anything else with its text', () => {
  const error = new RangeError('no');
  expect(toError(error)).toBe(error);
  expect(toError('no')).toMatchObject({ message: 'no', cause: 'no' });
  expect(toError(undefined)).toMatchObject({ message: 'undefined' });
});

test('toError wraps values that cannot be converted to a string', () => {
  const unsayable = {
    toString() {
      throw new TypeError('not even this');
    },
  };
  for (const thrown of [Object.create(null), unsayable]) {
    expect(toError(thrown)).toBeInstanceOf(Error);
    expect(toError(thrown).cause).toBe(thrown);
  }
});
