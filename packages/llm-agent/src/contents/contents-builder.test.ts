import type { Content, Event } from '@eventloom/core';
import { createEvent } from '@eventloom/core';
import { functionCallEvent, functionResponseEvent, modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { ContentsBuilder } from './contents-builder.ts';

/** What the model of the agent `bot` sees. */
function contentsOf(events: readonly Event[], branch?: string): Content[] {
  return new ContentsBuilder('bot', branch).build(events);
}

function said(role: string, ...texts: string[]): Content {
  return { role, parts: texts.map((text) => ({ text })) };
}

function call(id: string | undefined, name = 'f', args: Record<string, unknown> = {}) {
  return { ...(id === undefined ? {} : { id }), name, args };
}

function answer(id: string | undefined, response: Record<string, unknown>, name = 'f') {
  return { ...(id === undefined ? {} : { id }), name, response };
}

const calling = (...ids: string[]): Event =>
  functionCallEvent(
    'bot',
    ids.map((id) => call(id)),
  );
const answering = (author: string, responses: Readonly<Record<string, unknown>>): Event =>
  functionResponseEvent(
    author,
    Object.entries(responses).map(([id, result]) => answer(id, { result })),
  );
const calls = (...ids: string[]): Content => ({ role: 'model', parts: ids.map((id) => ({ functionCall: call(id) })) });
const answers = (responses: Readonly<Record<string, unknown>>): Content => ({
  role: 'user',
  parts: Object.entries(responses).map(([id, result]) => ({ functionResponse: answer(id, { result }) })),
});

const cutOff = (id: string): Content => ({
  role: 'user',
  parts: [
    {
      functionResponse: answer(id, {
        error: 'interrupted',
        message: 'The call was cut off while it ran. It may have had its effect or not.',
      }),
    },
  ],
});

// Rule 1: rewinds.

test('a rewind takes back its invocation and all that came after it', () => {
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

test('a rewind that is taken back itself does not count', () => {
  const events = [
    userEvent('one', { invocationId: 'i1' }),
    userEvent('two', { invocationId: 'i2' }),
    createEvent({ author: 'user', invocationId: 'i3', actions: { rewindBeforeInvocationId: 'i1' } }),
    userEvent('four', { invocationId: 'i4' }),
    createEvent({ author: 'user', invocationId: 'i5', actions: { rewindBeforeInvocationId: 'i2' } }),
  ];
  expect(contentsOf(events)).toEqual([said('user', 'one')]);
});

test('a rewind to an invocation that is not there takes nothing back', () => {
  const events = [
    userEvent('one', { invocationId: 'i1' }),
    createEvent({ author: 'user', invocationId: 'i2', actions: { rewindBeforeInvocationId: 'lost' } }),
  ];
  expect(contentsOf(events)).toEqual([said('user', 'one')]);
});

test('calls that were rewound take no responses any more', () => {
  const events = [
    userEvent('one', { invocationId: 'i1' }),
    functionCallEvent('bot', [call('c1')], { invocationId: 'i1' }),
    createEvent({ author: 'user', invocationId: 'i2', actions: { rewindBeforeInvocationId: 'i1' } }),
    answering('user', { c1: 'late' }),
  ];
  expect(contentsOf(events)).toEqual([]);
});

// Rule 2: what is visible.

test('events of the own branch and of its ancestors are seen, others are not', () => {
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

test('thoughts alone, empty texts, questions of the runtime, chunks and signals are not seen', () => {
  const question = (name: string) => functionCallEvent('bot', [call('c', name)]);
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

test('thoughts beside an answer stay, and so does an empty text with a signature', () => {
  const parts = [{ text: 'hm', thought: true }, { text: 'Yes.' }, { text: '', thoughtSignature: 'c2ln' }];
  expect(contentsOf([modelEvent('bot', parts)])).toEqual([{ role: 'model', parts }]);
});

test('a question of the runtime beside a call leaves the call', () => {
  const events = [functionCallEvent('bot', [call('c1'), call('c2', 'adk_request_confirmation')])];
  expect(contentsOf(events)).toEqual([calls('c1'), cutOff('c1')]);
});

// Rule 3: compaction.

const summary = (text: string, startTimestamp: number, endTimestamp: number, timestamp: number): Event =>
  createEvent({
    author: 'user',
    timestamp,
    actions: { compaction: { startTimestamp, endTimestamp, compactedContent: { role: 'model', parts: [{ text }] } } },
  });

test('a compacted range is its summary, where the range began', () => {
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

test('a later and wider summary stands for an earlier one', () => {
  const events = [
    userEvent('one', { timestamp: 1 }),
    summary('narrow', 1, 1, 2),
    userEvent('three', { timestamp: 3 }),
    summary('wide', 1, 3, 4),
  ];
  expect(contentsOf(events)).toEqual([said('model', 'wide')]);
});

test('an event that came after a summary is not covered by it, whatever its time', () => {
  const events = [userEvent('one', { timestamp: 1 }), summary('sum', 1, 9, 2), userEvent('late', { timestamp: 3 })];
  expect(contentsOf(events)).toEqual([said('model', 'sum'), said('user', 'late')]);
});

test('an invocation that goes on is told as it was, behind the summary that tells of it, and for as long as it does', () => {
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

test('a response to a call that only a summary tells of is told, whoever gave it', () => {
  const events = [
    calling('c1', 'c2'),
    summary('called', 0, 1, 2),
    { ...answering('bot', { c1: 'one' }), timestamp: 3 },
    { ...answering('user', { c2: 'two' }), timestamp: 4 },
  ];
  const told = (result: string) =>
    said('user', `For context: \`f\` tool returned result: ${JSON.stringify({ result })}`);
  expect(contentsOf(events)).toEqual([said('model', 'called'), told('one'), told('two')]);
});

test('a summary whose events are not there stands where it was made', () => {
  expect(contentsOf([summary('before the window', 1, 2, 3), userEvent('four', { timestamp: 4 })])).toEqual([
    said('model', 'before the window'),
    said('user', 'four'),
  ]);
});

// Rule 4: transcriptions.

test('the pieces of what one speaker said are one text', () => {
  const heard = (text: string) => createEvent({ author: 'user', inputTranscription: { text } });
  const spoken = (text: string) => createEvent({ author: 'bot', outputTranscription: { text } });
  const events = [heard('What '), heard('time?'), spoken('It is '), spoken('noon.'), heard('Thanks.')];
  expect(contentsOf(events)).toEqual([
    said('user', 'What time?'),
    said('model', 'It is noon.'),
    said('user', 'Thanks.'),
  ]);
});

test('what another agent spoke is joined and told as context', () => {
  const spoken = (author: string, text: string) => createEvent({ author, outputTranscription: { text } });
  const events = [spoken('guide', 'To the '), spoken('guide', 'left.'), spoken('clerk', 'Next.')];
  expect(contentsOf(events)).toEqual([
    said('user', 'For context:', '[guide] said: To the left.'),
    said('user', 'For context:', '[clerk] said: Next.'),
  ]);
});

test('what was typed in between begins a new text', () => {
  const heard = (text: string) => createEvent({ author: 'user', inputTranscription: { text } });
  expect(contentsOf([heard('a'), userEvent('typed'), heard('b')])).toEqual([
    said('user', 'a'),
    said('user', 'typed'),
    said('user', 'b'),
  ]);
});

// Rule 5: other agents.

test('what another agent said and did is told as context, without its thoughts', () => {
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
    said('user', 'For context:', '[guide] `find` tool returned result: {"result":5}'),
  ]);
});

// Rule 6: late responses.

test('a late response moves next to its call and what was said in between stays', () => {
  const events = [
    userEvent('go'),
    calling('c1'),
    modelEvent('bot', 'I am waiting.'),
    userEvent('and?'),
    answering('user', { c1: 'done' }),
  ];
  expect(contentsOf(events)).toEqual([
    said('user', 'go'),
    calls('c1'),
    answers({ c1: 'done' }),
    said('model', 'I am waiting.'),
    said('user', 'and?'),
  ]);
});

test('several late responses each find their call', () => {
  const events = [
    calling('a1', 'a2'),
    modelEvent('bot', 'first'),
    calling('b1'),
    modelEvent('bot', 'second'),
    answering('user', { b1: 'B' }),
    answering('user', { a2: 'A2' }),
    answering('user', { a1: 'A1' }),
  ];
  expect(contentsOf(events)).toEqual([
    calls('a1', 'a2'),
    answers({ a1: 'A1', a2: 'A2' }),
    said('model', 'first'),
    calls('b1'),
    answers({ b1: 'B' }),
    said('model', 'second'),
  ]);
});

// Rule 7: pairs.

test('the latest response of a call wins', () => {
  const events = [
    calling('c1'),
    answering('bot', { c1: 'pending' }),
    modelEvent('bot', 'Wait.'),
    answering('user', { c1: 'done' }),
  ];
  expect(contentsOf(events)).toEqual([calls('c1'), answers({ c1: 'done' }), said('model', 'Wait.')]);
});

test('responses stand in the order of their calls', () => {
  expect(contentsOf([calling('c1', 'c2'), answering('bot', { c2: 2, c1: 1 })])).toEqual([
    calls('c1', 'c2'),
    answers({ c1: 1, c2: 2 }),
  ]);
});

test('a response without a call is dropped, and what stands beside it is not', () => {
  const event = createEvent({
    author: 'user',
    content: { role: 'user', parts: [{ functionResponse: answer('lost', {}) }, { text: 'and this' }] },
  });
  expect(contentsOf([userEvent('hi'), event])).toEqual([said('user', 'hi'), said('user', 'and this')]);
});

test('a call without a response is told to be cut off: services refuse it otherwise', () => {
  const events = [calling('c1', 'c2'), answering('bot', { c1: 1 }), userEvent('next')];
  const [{ parts: [told] = [] }] = [cutOff('c2')];
  expect(contentsOf(events)).toEqual([
    calls('c1', 'c2'),
    { role: 'user', parts: [...(answers({ c1: 1 }).parts ?? []), told] },
    said('user', 'next'),
  ]);
  const twice = [calling('c1'), userEvent('next'), calling('c1'), modelEvent('bot', 'Hm.'), userEvent('and?')];
  expect(contentsOf(twice)).toEqual([
    calls('c1'),
    cutOff('c1'),
    said('user', 'next'),
    calls('c1'),
    cutOff('c1'),
    said('model', 'Hm.'),
    said('user', 'and?'),
  ]);
});

test('a call whose answer comes later is told to be pending until it comes, and then it is answered in its place', () => {
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
  events.push(answering('user', { 'adk-1': 'done' }));
  const answered = [
    { role: 'model', parts: [{ functionCall: call(undefined) }] },
    { role: 'user', parts: [{ functionResponse: answer(undefined, { result: 'done' }) }] },
    ...later,
  ];
  expect([builder.build(events), contentsOf(events)]).toEqual([answered, answered]);
});

test('a response belongs to the newest call of its id, because some models use ids again', () => {
  const events = [calling('0'), answering('bot', { 0: 'first' }), calling('0'), answering('bot', { 0: 'second' })];
  expect(contentsOf(events)).toEqual([calls('0'), answers({ 0: 'first' }), calls('0'), answers({ 0: 'second' })]);
});

test('another agent with a call of the same id is not answered', () => {
  const events = [functionCallEvent('guide', [call('c1', 'find')]), answering('user', { c1: 'x' })];
  expect(contentsOf(events)).toEqual([said('user', 'For context:', '[guide] called tool `find` with parameters: {}')]);
});

test('a response inside a model’s own reply stays in it, because the model’s service ran the tool', () => {
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

test('ids that the runtime gave are stripped, ids that the model gave stay', () => {
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

// Answers of the wrong shape.

test('an answer of the wrong shape is followed by what was wrong with it', () => {
  const wrong = { errorCode: 'OUTPUT_SCHEMA', errorMessage: 'Not JSON.' };
  const correction = said('user', 'Not JSON. Answer again with JSON that matches the schema and nothing else.');
  expect(contentsOf([modelEvent('bot', 'four', wrong)])).toEqual([said('model', 'four'), correction]);
  expect(contentsOf([createEvent({ author: 'bot', ...wrong })])).toEqual([correction]);
});

test('the correction is for the agent that answered, and the end of a failed run is none', () => {
  const wrong = { errorCode: 'OUTPUT_SCHEMA', errorMessage: 'Not JSON.' };
  const events = [modelEvent('guide', 'four', wrong), createEvent({ author: 'bot', object: 'error', ...wrong })];
  expect(contentsOf(events)).toEqual([said('user', 'For context:', '[guide] said: four')]);
});

// How it is built.

test('a list that was given out is the caller’s own', () => {
  const events = [userEvent('one')];
  const builder = new ContentsBuilder('bot', undefined);
  builder.build(events).push(said('user', 'pushed'));
  events.push(userEvent('two'));
  expect(builder.build(events)).toEqual([said('user', 'one'), said('user', 'two')]);
});

test('a long list is handed out without a copy, and one that was changed is built anew', () => {
  const events = Array.from({ length: 2048 }, (_, index) => userEvent(`message ${index}`));
  const builder = new ContentsBuilder('bot', undefined);
  const contents = builder.build(events);
  expect(builder.build(events)).toBe(contents);
  contents.pop();
  expect(builder.build(events)).toHaveLength(2048);
});
