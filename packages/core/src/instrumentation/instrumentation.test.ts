import { expect, test } from 'vitest';
import { AbortGuard } from '../context/abort-guard.ts';
import { systemPlatform } from '../platform/platform.ts';
import { type OperationEnd, ObservedOperation, observeGenerator, readTraceHeaders } from './instrumentation.ts';

function observe() {
  const ends: OperationEnd['status'][] = [];
  const active = { run: <T>(step: () => T) => step(), end: ({ status }: OperationEnd) => void ends.push(status) };
  return { ends, operation: new ObservedOperation(active, systemPlatform) };
}

async function* count(): AsyncGenerator<number, void, void> {
  yield 1;
  yield 2;
}

test('an operation is left when its guard fires or had fired, and ends once', async () => {
  const guard = new AbortGuard();
  const [open, ended, late] = [observe(), observe(), observe()];
  const [reader, other] = [open, ended].map(({ operation }) => observeGenerator(operation, guard, count));
  await reader?.next();
  for await (const _ of other ?? []);
  guard.abort('enough');
  observeGenerator(late.operation, guard, count);
  expect([open.ends, ended.ends, late.ends]).toEqual([['left'], ['ok'], ['left']]);
  await reader?.return();
  expect(open.ends).toEqual(['left']);
});

test('a generator that is closed before its first step runs none of its code', async () => {
  const { ends, operation } = observe();
  const reader = observeGenerator(operation, new AbortGuard(), count);
  await reader.return();
  expect(await reader.next()).toEqual({ done: true, value: undefined });
  expect(ends).toEqual(['left']);
});

test('a generator that cannot be opened ends its operation with the error', async () => {
  const { ends, operation } = observe();
  const reader = observeGenerator<number>(operation, new AbortGuard(), () => {
    throw new TypeError('no generator');
  });
  await expect(reader.next()).rejects.toThrow('no generator');
  expect(ends).toEqual(['error']);
});

const SPAN = '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test.each([
  [`00-${SPAN}`, true],
  [`01-${SPAN}-further-fields`, true],
  [`00-${SPAN}-further-fields`, false],
  [`ff-${SPAN}`, false],
  [`01-${SPAN}further`, false],
  [`01-${SPAN}-${'x'.repeat(1000)}`, false],
])('the traceparent %s is read: %s', (traceparent, isRead) => {
  expect(readTraceHeaders(new Headers({ traceparent }))).toEqual(isRead ? { traceparent } : undefined);
});
