import { expect, test } from 'vitest';
import { SizeLimitError, StorageError } from '../errors.ts';
import { storageFailure } from './storage-failure.ts';

function failure(message: string, properties: object): Error {
  return Object.assign(new Error(message), properties);
}

test.each([
  [failure('no space left', { code: 'ENOSPC' }), true],
  [failure('database or disk is full', { code: 'ERR_SQLITE_ERROR', errcode: 13 }), true],
  [failure('database is locked', { code: 'ERR_SQLITE_ERROR', errcode: 517 }), true],
  [failure('disk image is malformed', { code: 'ERR_SQLITE_ERROR', errcode: 11 }), false],
  [failure('FOREIGN KEY constraint failed', { code: 'ERR_SQLITE_ERROR', errcode: 787 }), false],
  ['not even an error', true],
])('%s is a StorageError whose retryable is %s', (thrown, retryable) => {
  const error = storageFailure('the store', thrown);
  expect(error).toBeInstanceOf(StorageError);
  expect(error).toMatchObject({ retryable, cause: thrown });
  expect(String(error)).toContain('the store is not available: ');
  expect(String(error)).toContain(thrown instanceof Error ? thrown.message : thrown);
});

test.each([
  new TypeError('x is not a function'),
  new SizeLimitError('too large'),
  failure('database is not open', { code: 'ERR_INVALID_STATE' }),
])('%s is not a storage failure, and is returned unchanged', (thrown) => {
  expect(storageFailure('the store', thrown)).toBe(thrown);
});

test('the public message leaves out the text of the driver', () => {
  const refused = new AggregateError([new Error('connect ECONNREFUSED 10.0.0.7:5432'), new Error('no route')], '');
  const error = StorageError.of('the session database', refused);
  expect(error.message).toBe('the session database is not available: connect ECONNREFUSED 10.0.0.7:5432; no route');
  expect(error.publicMessage).toBe('the session database is not available; try again');
  expect(StorageError.of('the store', refused, false).publicMessage).toBe('the store is not available');
});
