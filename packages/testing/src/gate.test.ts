import { RunAbortedError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { Gate } from './gate.ts';

test('pass waits until open is called, and reached resolves when a caller waits', async () => {
  const gate = new Gate();
  const order: string[] = [];
  const passing = gate.pass().then(() => order.push('passed'));
  await gate.reached;
  order.push('reached');
  gate.open();
  await passing;
  expect(order).toEqual(['reached', 'passed']);
});

test('an open gate stays open', async () => {
  const gate = new Gate();
  gate.open();
  await gate.pass();
  await gate.pass(new AbortController().signal);
});

test('a signal that fires ends the wait with RunAbortedError', async () => {
  const gate = new Gate();
  const controller = new AbortController();
  const passing = gate.pass(controller.signal);
  await gate.reached;
  controller.abort(new Error('stop'));
  await expect(passing).rejects.toBeInstanceOf(RunAbortedError);
});

test('pass rejects for a signal that fired before', async () => {
  const gate = new Gate();
  await expect(gate.pass(AbortSignal.abort())).rejects.toBeInstanceOf(RunAbortedError);
});
