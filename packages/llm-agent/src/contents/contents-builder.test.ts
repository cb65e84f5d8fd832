import { createEvent, type Part } from '@eventloom/core';
import { functionCallEvent, functionResponseEvent, modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { ContentsBuilder } from './contents-builder.ts';
import { answer, answering, call, calls, contentsOf, interruptedResponse, said } from './fixtures/built-contents.ts';

// Rule 1: rewinds.

test('a rewind removes its invocation and all later events', () => {
  const events = [
    userEvent('one', { invocationId: 'i1' }),
    modelEvent('bot', 'first', { invocationId: 'i1' }),
    userEvent('two', { invocationId: 'i2' }),
    modelEvent('bot', 'second', { invocationId: 'i2' }),
    userEvent('three', { invocationId: 'i3' }),
    createEvent({ author: 'user', invocationId: 'i4', actions: { rewindBeforeInvocationId: 'i2' } }),
    userEvent('again', { invocationId: 'i5' }),
  ];
  expect(contentsOf(events)).toEqual([said('user', 'one'), said('model', 'first'), said('user', 'again')]);
});

test('a rewind that was rewound itself has no effect', () => {
  const events = [
    userEvent('one', { invocationId: 'i1' }),
    userEvent('two', { invocationId: 'i2' }),
    createEvent({ author: 'user', invocationId: 'i3', actions: { rewindBeforeInvocationId: 'i1' } }),
    userEvent('four', { invocationId: 'i4' }),
    createEvent({ author: 'user', invocationId: 'i5', actions: { rewindBeforeInvocationId: 'i2' } }),
  ];
  expect(contentsOf(events)).toEqual([said('user', 'one')]);
});

test('a rewind to an unknown invocation has no effect', () => {
  const events = [
    userEvent('one', { invocationId: 'i1' }),
    createEvent({ author: 'user', invocationId: 'i2', actions: { rewindBeforeInvocationId: 'lost' } }),
  ];
  expect(contentsOf(events)).toEqual([said('user', 'one')]);
});

test('rewound calls get no responses', () => {
  const events = [
    userEvent('one', { invocationId: 'i1' }),
    functionCallEvent('bot', [call('c1')], { invocationId: 'i1' }),
    createEvent({ author: 'user', invocationId: 'i2', actions: { rewindBeforeInvocationId: 'i1' } }),
    answering('user', { c1: 'late' }),
  ];
  expect(contentsOf(events)).toEqual([]);
});

// Rule 2: what is visible.

test('the model sees only events of its own branch and its ancestors', () => {
  const events = [
    userEvent('for all'),
    modelEvent('bot', 'on a', { branch: 'a' }),
    modelEvent('bot', 'on a.b', { branch: 'a.b' }),
    modelEvent('bot', 'on a.c', { branch: 'a.c' }),
    modelEvent('bot', 'on a.bc', { branch: 'a.bc' }),
    modelEvent('bot', 'on a.b.d', { branch: 'a.b.d' }),
  ];
  const texts = (branch?: string) => contentsOf(events, branch).map((content) => content.parts?.[0]?.text);
  expect(texts('a.b')).toEqual(['for all', 'on a', 'on a.b']);
  expect(texts('a')).toEqual(['for all', 'on a']);
  expect(texts('a.bc')).toEqual(['for all', 'on a', 'on a.bc']);
  expect(texts()).toHaveLength(6);
});

test('the model does not see lone thoughts, empty texts, requests of the runtime, chunks and signals', () => {
  const question = (name: string) => functionCallEvent('bot', [{ id: 'c', name, args: { interruptId: 'c' } }]);
  const events = [
    userEvent('hi'),
    modelEvent('bot', [{ text: 'hm', thought: true }]),
    modelEvent('bot', [{ text: '' }]),
    modelEvent('bot', []),
    question('adk_request_credential'),
    question('adk_request_confirmation'),
    question('adk_request_input'),
    functionResponseEvent('user', [answer('c', { confirmed: true }, 'adk_request_confirmation')]),
    modelEvent('bot', 'chunk', { partial: true }),
    createEvent({ author: 'bot', actions: { stateDelta: { key: 1 } } }),
  ];
  expect(contentsOf(events)).toEqual([said('user', 'hi')]);
});

test('thoughts beside an answer and an empty text with a signature are kept', () => {
  const parts = [{ text: 'hm', thought: true }, { text: 'Yes.' }, { text: '', thoughtSignature: 'c2ln' }];
  expect(contentsOf([modelEvent('bot', parts)])).toEqual([{ role: 'model', parts }]);
});

test('a request of the runtime is removed and the call beside it is kept', () => {
  const events = [functionCallEvent('bot', [call('c1'), call('c2', 'adk_request_confirmation')])];
  expect(contentsOf(events)).toEqual([calls('c1'), interruptedResponse('c1')]);
});

// Rule 4: transcriptions.

test('consecutive transcriptions of one speaker are joined', () => {
  const heard = (text: string) => createEvent({ author: 'user', inputTranscription: { text } });
  const spoken = (text: string) => createEvent({ author: 'bot', outputTranscription: { text } });
  const events = [heard('What '), heard('time?'), spoken('It is '), spoken('noon.'), heard('Thanks.')];
  expect(contentsOf(events)).toEqual([
    said('user', 'What time?'),
    said('model', 'It is noon.'),
    said('user', 'Thanks.'),
  ]);
});

test('transcriptions of another agent are joined and shown as context', () => {
  const spoken = (author: string, text: string) => createEvent({ author, outputTranscription: { text } });
  const events = [spoken('guide', 'To the '), spoken('guide', 'left.'), spoken('clerk', 'Next.')];
  expect(contentsOf(events)).toEqual([
    said('user', 'For context:', '[guide] said: To the left.'),
    said('user', 'For context:', '[clerk] said: Next.'),
  ]);
});

test('a typed message between transcriptions starts a new text', () => {
  const heard = (text: string) => createEvent({ author: 'user', inputTranscription: { text } });
  expect(contentsOf([heard('a'), userEvent('typed'), heard('b')])).toEqual([
    said('user', 'a'),
    said('user', 'typed'),
    said('user', 'b'),
  ]);
});

// Rule 5: other agents.

test('messages and calls of another agent are shown as context, without its thoughts', () => {
  const image = { inlineData: { mimeType: 'image/png', data: 'aQ==' } };
  const events = [
    modelEvent('guide', [{ text: 'hm', thought: true }, { text: 'Look:' }, image]),
    functionCallEvent('guide', [call('adk-1', 'find', { where: 'here' })]),
    functionResponseEvent('guide', [answer('adk-1', { result: 5 }, 'find')]),
    modelEvent('guide', [{ text: 'only thinking', thought: true }]),
    modelEvent('guide', [{ text: '', thoughtSignature: 'c2ln' }]),
  ];
  expect(contentsOf(events)).toEqual([
    { role: 'user', parts: [{ text: 'For context:' }, { text: '[guide] said: Look:' }, image] },
    said('user', 'For context:', '[guide] called tool `find` with parameters: {"where":"here"}'),
    said('user', 'For context:', '[guide] tool `find` returned result: {"result":5}'),
  ]);
});

// Answers of the wrong shape.

test('an answer that does not match the schema is followed by a correction', () => {
  const usageMetadata = { timingInfo: { timeToFirstTokenMs: 1 } };
  const wrong = { errorCode: 'OUTPUT_SCHEMA', errorMessage: 'Not JSON.', usageMetadata };
  const correction = said('user', 'Not JSON. Answer again with JSON that matches the schema and nothing else.');
  expect(contentsOf([modelEvent('bot', 'four', wrong)])).toEqual([said('model', 'four'), correction]);
  expect(contentsOf([createEvent({ author: 'bot', ...wrong })])).toEqual([correction]);
});

test('only the agent that answered gets a correction, and a failed run adds none', () => {
  const wrong = { errorCode: 'OUTPUT_SCHEMA', errorMessage: 'Not JSON.' };
  const events = [modelEvent('guide', 'four', wrong), createEvent({ author: 'bot', object: 'error', ...wrong })];
  expect(contentsOf(events)).toEqual([said('user', 'For context:', '[guide] said: four')]);
});

// Building

test('build returns a short list as a copy', () => {
  const events = [userEvent('one')];
  const builder = new ContentsBuilder('bot', undefined);
  builder.build(events).push(said('user', 'pushed'));
  events.push(userEvent('two'));
  expect(builder.build(events)).toEqual([said('user', 'one'), said('user', 'two')]);
});

test('build returns a long list without a copy, and rebuilds it after a caller changed it', () => {
  const events = Array.from({ length: 2048 }, (_, index) => userEvent(`message ${index}`));
  const builder = new ContentsBuilder('bot', undefined);
  const contents = builder.build(events);
  expect(builder.build(events)).toBe(contents);
  contents.pop();
  expect(builder.build(events)).toHaveLength(2048);
});

test('an empty id of a call and its response does not go to the model', () => {
  const call: Part = { functionCall: { id: '', name: 'f', args: {} } };
  const answer: Part = { functionResponse: { id: '', name: 'f', response: {} } };
  const events = [
    userEvent('go'),
    modelEvent('bot', [call]),
    createEvent({ author: 'bot', content: { role: 'user', parts: [answer] } }),
  ];
  const [, made, answered] = contentsOf(events);
  expect(made?.parts).toEqual([{ functionCall: { name: 'f', args: {} } }]);
  expect(answered?.parts).toEqual([{ functionResponse: { name: 'f', response: {} } }]);
  const [, , pending] = contentsOf(events.slice(0, 2));
  expect(pending?.parts?.[0]?.functionResponse).not.toHaveProperty('id');
});
