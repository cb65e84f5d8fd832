import { expect, test } from 'vitest';
import { AbortGuard } from '../context/abort-guard.ts';
import { systemPlatform } from '../platform/platform.ts';
import {
  type ActiveOperation,
  type OperationEnd,
  ObservedOperation,
  openInside,
  readTraceHeaders,
} from './instrumentation.ts';

function observe() {
  const ends: OperationEnd['status'][] = [];
  const active = { run: <T>(step: () => T) => step(), end: ({ status }: OperationEnd) => void ends.push(status) };
  return { ends, operation: new ObservedOperation(active, systemPlatform) };
}

async function* count(): AsyncGenerator<number, void, void> {
  yield 1;
  yield 2;
}

test('an abort ends an operation whose reader waits, also one that starts afterwards, and not one that has ended', async () => {
  const guard = new AbortGuard();
  const [open, ended, late] = [observe(), observe(), observe()];
  const [reader] = [open, ended].map(({ operation }) => openInside(operation, guard, count));
  await reader?.next();
  ended.operation.succeed();
  guard.abort('enough');
  openInside(late.operation, guard, count);
  expect([open.ends, ended.ends, late.ends]).toEqual([['left'], ['ok'], ['left']]);
  await reader?.return();
  expect(open.ends).toEqual(['left']);
});

test('a generator that cannot be opened ends its operation with the error', () => {
  const { ends, operation } = observe();
  const open = (): never => {
    throw new TypeError('no generator');
  };
  expect(() => openInside(operation, new AbortGuard(), open)).toThrow('no generator');
  expect(ends).toEqual(['error']);
});

test('each step of a generator runs inside its operation, and as it is if the instrumentation runs no steps', async () => {
  let steps = 0;
  const counting: ActiveOperation = {
    run: (step) => {
      steps++;
      return step();
    },
    end: () => undefined,
  };
  const inside = openInside(new ObservedOperation(counting, systemPlatform), new AbortGuard(), count);
  const values: number[] = [];
  for await (const value of inside) values.push(value);
  expect(values).toEqual([1, 2]);
  // The opening, and a step for each value and for the end.
  expect(steps).toBe(4);
  const inner = count();
  const plain = new ObservedOperation({ end: () => undefined }, systemPlatform);
  expect(openInside(plain, new AbortGuard(), () => inner)).toBe(inner);
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
