import { createEvent } from '@eventloom/core';
import { functionCallEvent, modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { ContentsBuilder } from './contents-builder.ts';
import {
  answer,
  answering,
  answers,
  call,
  calling,
  calls,
  contentsOf,
  interruptedResponse,
  said,
} from './fixtures/built-contents.ts';

// Rule 6: late responses.

test("a response in the newest event is the last content, without the model's text since its call", () => {
  const events = [
    userEvent('go'),
    calling('c1'),
    answering('bot', { c1: 'asked' }),
    modelEvent('bot', 'I am waiting.'),
    answering('user', { c1: 'done' }),
  ];
  expect(contentsOf(events)).toEqual([said('user', 'go'), calls('c1'), answers({ c1: 'done' })]);
});

test("a late response of one run does not replace another run's response that has the same id", () => {
  const later = { invocationId: 'e-2' };
  const events = [
    { ...calling('c1'), invocationId: 'e-1' },
    { ...calling('c1'), ...later },
    { ...answering('bot', { c1: 'second' }), ...later },
    userEvent('and?'),
    { ...answering('user', { c1: 'first' }), invocationId: 'e-1' },
  ];
  expect(contentsOf(events)).toEqual([
    calls('c1'),
    answers({ c1: 'second' }),
    said('user', 'and?'),
    calls('c1'),
    answers({ c1: 'first' }),
  ]);
});

test('user messages and other responses since the call are kept before the answered call', () => {
  const events = [
    userEvent('go'),
    calling('c1'),
    modelEvent('bot', 'I am waiting.'),
    userEvent('and in English'),
    calling('c2'),
    answering('bot', { c2: 'other' }),
    modelEvent('bot', 'Fine.'),
    answering('user', { c1: 'done' }),
  ];
  expect(contentsOf(events)).toEqual([
    said('user', 'go'),
    said('user', 'and in English'),
    calls('c2'),
    answers({ c2: 'other' }),
    calls('c1'),
    answers({ c1: 'done' }),
  ]);
});

test('the newest response is last even if another call has no response yet', () => {
  const events = [
    functionCallEvent('bot', [call('c1')], { longRunningToolIds: ['c1'] }),
    modelEvent('bot', 'I am waiting.'),
    functionCallEvent('bot', [call('c2')], { longRunningToolIds: ['c2'] }),
    answering('user', { c1: 'done' }),
  ];
  const builder = new ContentsBuilder('bot', undefined);
  const contents = builder.build(events);
  expect(contents.slice(-2)).toEqual([calls('c1'), answers({ c1: 'done' })]);
  expect(contents).toHaveLength(4);
  expect(builder.build(events)).toEqual(contents);
});

test('events without content for the model do not move a response from the end', () => {
  const events = [
    calling('c1'),
    modelEvent('bot', 'I am waiting.'),
    answering('user', { c1: 'done' }),
    createEvent({ author: 'bot', actions: { stateDelta: { key: 1 } } }),
    answering('user', { lost: 1 }),
  ];
  expect(contentsOf(events)).toEqual([calls('c1'), answers({ c1: 'done' })]);
});

test('an older late response moves to its call, and the messages in between are kept', () => {
  const events = [
    userEvent('go'),
    calling('c1'),
    modelEvent('bot', 'I am waiting.'),
    userEvent('and?'),
    answering('user', { c1: 'done' }),
  ];
  const builder = new ContentsBuilder('bot', undefined);
  expect(builder.build(events)).toEqual([
    said('user', 'go'),
    said('user', 'and?'),
    calls('c1'),
    answers({ c1: 'done' }),
  ]);
  events.push(modelEvent('bot', 'Done.'));
  const later = [
    said('user', 'go'),
    calls('c1'),
    answers({ c1: 'done' }),
    said('model', 'I am waiting.'),
    said('user', 'and?'),
    said('model', 'Done.'),
  ];
  expect([builder.build(events), contentsOf(events)]).toEqual([later, later]);
});

test('several late responses each move to their call', () => {
  const events = [
    calling('a1', 'a2'),
    modelEvent('bot', 'first'),
    calling('b1'),
    modelEvent('bot', 'second'),
    answering('user', { b1: 'B' }),
    answering('user', { a2: 'A2' }),
    answering('user', { a1: 'A1' }),
  ];
  const answered = [calls('a1', 'a2'), answers({ a1: 'A1', a2: 'A2' })];
  expect(contentsOf(events)).toEqual([calls('b1'), answers({ b1: 'B' }), ...answered]);
  expect(contentsOf([...events, userEvent('next')])).toEqual([
    ...answered,
    said('model', 'first'),
    calls('b1'),
    answers({ b1: 'B' }),
    said('model', 'second'),
    said('user', 'next'),
  ]);
});

test('responses to several calls in one event are last, in call order', () => {
  const events = [
    calling('a'),
    modelEvent('bot', 'first'),
    calling('b'),
    modelEvent('bot', 'second'),
    answering('user', { b: 'B', a: 'A' }),
  ];
  expect(contentsOf(events)).toEqual([calls('a'), answers({ a: 'A' }), calls('b'), answers({ b: 'B' })]);
});

// Rule 7: pairs.

test('the latest response to a call wins', () => {
  const events = [
    calling('c1'),
    answering('bot', { c1: 'pending' }),
    modelEvent('bot', 'Wait.'),
    answering('user', { c1: 'done' }),
  ];
  expect(contentsOf([...events, userEvent('next')])).toEqual([
    calls('c1'),
    answers({ c1: 'done' }),
    said('model', 'Wait.'),
    said('user', 'next'),
  ]);
});

test('responses are in the order of their calls', () => {
  expect(contentsOf([calling('c1', 'c2'), answering('bot', { c2: 2, c1: 1 })])).toEqual([
    calls('c1', 'c2'),
    answers({ c1: 1, c2: 2 }),
  ]);
});

test('a response without a call is dropped, and the parts beside it are kept', () => {
  const event = createEvent({
    author: 'user',
    content: { role: 'user', parts: [{ functionResponse: answer('lost', {}) }, { text: 'and this' }] },
  });
  expect(contentsOf([userEvent('hi'), event])).toEqual([said('user', 'hi'), said('user', 'and this')]);
});

test('a call without a response gets one that says it was interrupted', () => {
  const events = [calling('c1', 'c2'), answering('bot', { c1: 1 }), userEvent('next')];
  const [{ parts: [interrupted] = [] }] = [interruptedResponse('c2')];
  expect(contentsOf(events)).toEqual([
    calls('c1', 'c2'),
    { role: 'user', parts: [...(answers({ c1: 1 }).parts ?? []), interrupted] },
    said('user', 'next'),
  ]);
  const twice = [calling('c1'), userEvent('next'), calling('c1'), modelEvent('bot', 'Hm.'), userEvent('and?')];
  expect(contentsOf(twice)).toEqual([
    calls('c1'),
    interruptedResponse('c1'),
    said('user', 'next'),
    calls('c1'),
    interruptedResponse('c1'),
    said('model', 'Hm.'),
    said('user', 'and?'),
  ]);
});

test('a long-running call gets a pending response, which its result replaces in place', () => {
  const builder = new ContentsBuilder('bot', undefined);
  const events = [
    functionCallEvent('bot', [call('adk-1')], { longRunningToolIds: ['adk-1'] }),
    modelEvent('bot', 'Wait.'),
    userEvent('next'),
  ];
  const pending = { status: 'pending', message: 'There is no result yet.' };
  const later = [said('model', 'Wait.'), said('user', 'next')];
  expect(builder.build(events)).toEqual([
    { role: 'model', parts: [{ functionCall: call(undefined) }] },
    { role: 'user', parts: [{ functionResponse: answer(undefined, pending) }] },
    ...later,
  ]);
  events.push(answering('user', { 'adk-1': 'done' }), userEvent('so?'));
  const answered = [
    { role: 'model', parts: [{ functionCall: call(undefined) }] },
    { role: 'user', parts: [{ functionResponse: answer(undefined, { result: 'done' }) }] },
    ...later,
    said('user', 'so?'),
  ];
  expect([builder.build(events), contentsOf(events)]).toEqual([answered, answered]);
});

test('a response belongs to the newest call with its id, because some models reuse ids', () => {
  const events = [calling('0'), answering('bot', { 0: 'first' }), calling('0'), answering('bot', { 0: 'second' })];
  expect(contentsOf(events)).toEqual([calls('0'), answers({ 0: 'first' }), calls('0'), answers({ 0: 'second' })]);
});

test("a model reads a person's response to another agent's call as text, as it reads the call", () => {
  const events = [functionCallEvent('guide', [call('c1')]), answering('user', { c1: 'x' })];
  expect(contentsOf(events)).toEqual([
    said('user', 'For context:', '[guide] called tool `f` with parameters: {}'),
    said('user', 'For context: tool `f` returned result: {"result":"x"}'),
  ]);
  expect(
    contentsOf([functionCallEvent('guide', [call('c1')], { branch: 'a' }), answering('user', { c1: 'x' })], 'b'),
  ).toEqual([]);
});

test("a response inside a model's reply stays there, because the model's service ran the tool", () => {
  const parts = [
    { functionCall: call('r1', 'remote') },
    { functionResponse: answer('r1', { result: 1 }, 'remote') },
    { text: 'Done.' },
  ];
  expect(contentsOf([modelEvent('bot', parts), userEvent('thanks')])).toEqual([
    { role: 'model', parts },
    said('user', 'thanks'),
  ]);
});

// Rule 8: ids.

test('ids of the runtime are removed and ids of the model are kept', () => {
  const events = [calling('adk-1', 'm-2'), answering('bot', { 'adk-1': 1, 'm-2': 2 })];
  expect(contentsOf(events)).toEqual([
    { role: 'model', parts: [{ functionCall: call(undefined) }, { functionCall: call('m-2') }] },
    {
      role: 'user',
      parts: [
        { functionResponse: answer(undefined, { result: 1 }) },
        { functionResponse: answer('m-2', { result: 2 }) },
      ],
    },
  ]);
});
