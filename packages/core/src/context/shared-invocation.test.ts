import { describe, expect, test } from 'vitest';
import { LlmCallLimitError, RunAbortedError } from '../errors.ts';
import { AbortGuard } from './abort-guard.ts';
import { agent, contextOf, other } from './fixtures/test-invocation.ts';

describe('countLlmCall', () => {
  test.each([1, 3])('allows exactly %d calls, whichever agent makes them', (maxLlmCalls) => {
    const context = contextOf({ runConfig: { maxLlmCalls } }).forAgent(agent);
    for (let call = 0; call < maxLlmCalls; call++) context.forAgent(other).progress.countLlmCall();
    expect(() => context.progress.countLlmCall()).toThrow(LlmCallLimitError);
    expect(() => context.progress.countLlmCall()).toThrow(LlmCallLimitError);
  });

  test('allows 500 calls by default, and any number with a limit of 0 or below', () => {
    const usual = contextOf();
    for (let call = 0; call < 500; call++) usual.progress.countLlmCall();
    expect(() => usual.progress.countLlmCall()).toThrow(LlmCallLimitError);
    for (const maxLlmCalls of [0, -1]) {
      const unlimited = contextOf({ runConfig: { maxLlmCalls } });
      for (let call = 0; call < 600; call++) unlimited.progress.countLlmCall();
    }
  });
});

test('an invocation that one context ends has ended for all of them', () => {
  const root = contextOf();
  const first = root.forAgent(agent);
  expect(root.endInvocation).toBe(false);
  first.forAgent(other).endInvocation = true;
  expect([root.endInvocation, first.endInvocation]).toEqual([true, true]);
});

describe('an abort', () => {
  test('rejects waiting work with its reason as the cause', async () => {
    const abort = new AbortGuard();
    const context = contextOf({ abort });
    expect(() => context.throwIfAborted()).not.toThrow();
    const waiting = context.untilAborted(new Promise<never>(() => undefined));
    abort.abort('enough');
    expect(context.abortSignal.reason).toBe('enough');
    await expect(waiting).rejects.toMatchObject({ code: RunAbortedError.code, cause: 'enough' });
    await expect(context.untilAborted(new Promise<never>(() => undefined))).rejects.toThrow(RunAbortedError);
    expect(() => context.throwIfAborted()).toThrow(RunAbortedError);
  });

  test('before the first wait is noticed', async () => {
    const abort = new AbortGuard();
    abort.abort(undefined);
    const waiting = contextOf({ abort }).untilAborted(new Promise<never>(() => undefined));
    await expect(waiting).rejects.toThrow(RunAbortedError);
  });

  test('that never fires leaves the result of the work unchanged', async () => {
    expect(await contextOf().untilAborted(Promise.resolve(5))).toBe(5);
    await expect(contextOf().untilAborted(Promise.reject(new TypeError('x')))).rejects.toThrow(TypeError);
  });
});

test('a reported error is known to all contexts of the invocation', () => {
  const root = contextOf();
  const error = new TypeError('x');
  expect(root.progress.isReported(error)).toBe(false);
  expect(root.progress.isReported(undefined)).toBe(false);
  root.forAgent(agent).progress.markReported(error);
  expect(root.progress.isReported(error)).toBe(true);
  expect(root.progress.isReported(new TypeError('x'))).toBe(false);
});
