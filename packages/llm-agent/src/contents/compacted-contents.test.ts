import { createEvent, type Event } from '@eventloom/core';
import { functionCallEvent, modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { ContentsBuilder } from './contents-builder.ts';
import { answering, call, calling, contentsOf, said } from './fixtures/built-contents.ts';

// Rule 3: compaction.

const summary = (text: string, startTimestamp: number, endTimestamp: number, timestamp: number): Event =>
  createEvent({
    author: 'user',
    timestamp,
    actions: { compaction: { startTimestamp, endTimestamp, compactedContent: { role: 'model', parts: [{ text }] } } },
  });

test('a summary replaces its range at the position where the range began', () => {
  const events = [
    userEvent('zero', { timestamp: 0 }),
    userEvent('one', { timestamp: 1 }),
    modelEvent('bot', 'two', { timestamp: 2 }),
    userEvent('three', { timestamp: 3 }),
    summary('one and two', 1, 2, 4),
    userEvent('five', { timestamp: 5 }),
  ];
  expect(contentsOf(events)).toEqual([
    said('user', 'zero'),
    said('model', 'one and two'),
    said('user', 'three'),
    said('user', 'five'),
  ]);
});

test('a later and wider summary replaces an earlier one', () => {
  const events = [
    userEvent('one', { timestamp: 1 }),
    summary('narrow', 1, 1, 2),
    userEvent('three', { timestamp: 3 }),
    summary('wide', 1, 3, 4),
  ];
  expect(contentsOf(events)).toEqual([said('model', 'wide')]);
});

test('a summary does not cover a later event, whatever its timestamp', () => {
  const events = [userEvent('one', { timestamp: 1 }), summary('sum', 1, 9, 2), userEvent('late', { timestamp: 3 })];
  expect(contentsOf(events)).toEqual([said('model', 'sum'), said('user', 'late')]);
});

test('a resumed invocation is shown in full after the summary that covers it, until it ends', () => {
  const events = [
    userEvent('one', { timestamp: 1, invocationId: 'i1' }),
    userEvent('two', { timestamp: 2, invocationId: 'i2' }),
    userEvent('three', { timestamp: 3, invocationId: 'i3' }),
    summary('all', 1, 3, 4),
    userEvent('five', { timestamp: 5, invocationId: 'i5' }),
  ];
  const builder = new ContentsBuilder('bot', undefined);
  const whole = [said('model', 'all'), said('user', 'five')];
  expect(builder.build(events)).toEqual(whole);
  expect(builder.build(events, 'i2')).toEqual([said('model', 'all'), said('user', 'two'), said('user', 'five')]);
  expect(builder.build(events)).toEqual(whole);
});

test('a response to a summarized call is shown as text, from a tool or from the client', () => {
  const events = [
    calling('c1', 'c2'),
    summary('called', 0, 1, 2),
    { ...answering('bot', { c1: 'one' }), timestamp: 3 },
    { ...answering('user', { c2: 'two' }), timestamp: 4 },
  ];
  const lateResult = (result: string) =>
    said('user', `For context: tool \`f\` returned result: ${JSON.stringify({ result })}`);
  expect(contentsOf(events)).toEqual([said('model', 'called'), lateResult('one'), lateResult('two')]);
});

test('a response to a call of another branch is dropped also after a summary', () => {
  const events = [
    summary('before', 0, 1, 2),
    functionCallEvent('guide', [call('c1')], { branch: 'a', timestamp: 3 }),
    { ...answering('user', { c1: 'x' }), timestamp: 4 },
  ];
  expect(contentsOf(events, 'b')).toEqual([said('model', 'before')]);
});

test('a summary whose events were not read is at the position at which it was created', () => {
  expect(contentsOf([summary('before the window', 1, 2, 3), userEvent('four', { timestamp: 4 })])).toEqual([
    said('model', 'before the window'),
    said('user', 'four'),
  ]);
});
