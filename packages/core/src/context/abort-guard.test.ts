import { expect, test } from 'vitest';
import { RunAbortedError } from '../errors.ts';
import { AbortGuard } from './abort-guard.ts';

function never(): Promise<never> {
  return new Promise(() => undefined);
}

test('until settles with the work if there is no abort', async () => {
  const guard = new AbortGuard();
  expect(await guard.until(Promise.resolve(5))).toBe(5);
  await expect(guard.until(Promise.reject(new TypeError('x')))).rejects.toThrow(TypeError);
  expect(guard.signal.aborted).toBe(false);
  expect(() => guard.check()).not.toThrow();
});

test('abort fires the signal and rejects every wait with its reason as the cause', async () => {
  const guard = new AbortGuard();
  const waits = [guard.until(never()), guard.until(never())];
  guard.abort('enough');
  for (const wait of waits) {
    await expect(wait).rejects.toMatchObject({ code: RunAbortedError.code, cause: 'enough' });
  }
  expect(guard.signal.aborted).toBe(true);
  expect(() => guard.check()).toThrow(RunAbortedError);
});

test('a wait that begins after the abort rejects at once', async () => {
  const guard = new AbortGuard();
  guard.abort('enough');
  await expect(guard.until(never())).rejects.toThrow(RunAbortedError);
  await expect(guard.until(Promise.resolve(5))).rejects.toThrow(RunAbortedError);
});

test('a guard ignores work that rejects after the abort', async () => {
  const guard = new AbortGuard();
  const { promise, reject } = Promise.withResolvers<void>();
  const wait = guard.until(promise);
  guard.abort('enough');
  reject(new TypeError('late'));
  await expect(wait).rejects.toThrow(RunAbortedError);
});

test('a second abort keeps the first reason', () => {
  const guard = new AbortGuard();
  guard.abort('first');
  guard.abort('second');
  expect(guard.signal.reason).toBe('first');
});
