import { RunAbortedError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { Gate } from './gate.ts';

test('a gate holds who comes before it is open, and says that somebody waits', async () => {
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

test('a signal ends the wait at a gate', async () => {
  const gate = new Gate();
  const controller = new AbortController();
  const passing = gate.pass(controller.signal);
  await gate.reached;
  controller.abort(new Error('stop'));
  await expect(passing).rejects.toBeInstanceOf(RunAbortedError);
});

test('a signal that fired before lets nobody through', async () => {
  const gate = new Gate();
  await expect(gate.pass(AbortSignal.abort())).rejects.toBeInstanceOf(RunAbortedError);
});
