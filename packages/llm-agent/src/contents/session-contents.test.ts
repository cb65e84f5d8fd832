import {
  BaseAgent,
  type BaseLlm,
  type Content,
  createEvent,
  type Event,
  type InvocationContext,
} from '@eventloom/core';
import {
  functionCallEvent,
  functionResponseEvent,
  modelEvent,
  ScriptedModel,
  testContext,
  userEvent,
} from '@eventloom/testing';
import { expect, test } from 'vitest';
import { sessionContents } from './contents-builder.ts';

class Named extends BaseAgent {
  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
}

function contextOf(events: Event[], { name = 'bot', derived = new Map<unknown, never>() } = {}): InvocationContext {
  return testContext({ agent: new Named({ name }), events, derived });
}

function textsOf(contents: readonly Content[]): (string | undefined)[] {
  return contents.map((content) => content.parts?.at(-1)?.text);
}

/** The contents of the current turn. */
const turnContents = (view: Parameters<typeof sessionContents>[0]): Content[] =>
  sessionContents(view, undefined, undefined, 'none');

test('sessionContents continues from the contents of the earlier events', () => {
  const derived = new Map<unknown, never>();
  const events = [userEvent('one')];
  const context = contextOf(events, { derived });
  expect(textsOf(sessionContents(context))).toEqual(['one']);
  events.push(modelEvent('bot', 'two'));
  expect(textsOf(sessionContents(context))).toEqual(['one', 'two']);
  expect(derived.size).toBe(1);
});

test('media of earlier responses is at the place where the model of the step reads it', () => {
  const media = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
  const response = { id: 'c', name: 'f', response: {}, parts: [media] };
  const events = [userEvent('go'), functionCallEvent('bot', [{ id: 'c', name: 'f' }])];
  events.push(
    createEvent({
      author: 'bot',
      invocationId: 'i',
      content: { role: 'user', parts: [{ functionResponse: response }] },
    }),
  );
  const context = contextOf(events);
  const readsIn = (inlineData: string[]) => {
    const capabilities = { ...new ScriptedModel([]).capabilities(), responseMedia: { inlineData, fileData: [] } };
    return new ScriptedModel([], { capabilities });
  };
  const inside = [{ functionResponse: response }];
  const { parts: _, ...bare } = response;
  const after = [{ functionResponse: bare }, media];
  const partsFor = (model: BaseLlm) => sessionContents(context, model).at(-1)?.parts;
  expect(partsFor(readsIn(['image/*']))).toEqual(inside);
  expect(partsFor(readsIn([]))).toEqual(after);
  expect(partsFor(readsIn(['image/*']))).toEqual(inside);
});

test('each agent has its own view of the same events', () => {
  const derived = new Map<unknown, never>();
  const events = [modelEvent('bot', 'mine')];
  expect(sessionContents(contextOf(events, { derived }))).toEqual([{ role: 'model', parts: [{ text: 'mine' }] }]);
  expect(sessionContents(contextOf(events, { name: 'other', derived }))).toEqual([
    { role: 'user', parts: [{ text: 'For context:' }, { text: '[bot] said: mine' }] },
  ]);
});

test('the current turn begins with the newest message of the user', () => {
  const events = [
    userEvent('one'),
    modelEvent('bot', 'two'),
    userEvent('three'),
    functionCallEvent('bot', [{ id: 'c', name: 'f' }]),
  ];
  expect(textsOf(turnContents(contextOf(events)))).toEqual(['three', undefined, undefined]);
});

test('the current turn begins with the last message of another agent', () => {
  const events = [userEvent('one'), modelEvent('guide', 'two'), modelEvent('bot', 'three')];
  expect(textsOf(turnContents(contextOf(events)))).toEqual(['[guide] said: two', 'three']);
});

test('function responses continue the turn of their calls', () => {
  const events = [
    userEvent('old'),
    userEvent('go'),
    functionCallEvent('bot', [{ id: 'c', name: 'f' }]),
    functionResponseEvent('user', [{ id: 'c', name: 'f', response: {} }]),
  ];
  expect(turnContents(contextOf(events))).toHaveLength(3);
});

test('an answer continues the turn that made the call, even if other turns began since', () => {
  const answered = (id: string) => functionResponseEvent('user', [{ id, name: 'f', response: { id } }]);
  const events = [
    userEvent('old'),
    functionCallEvent('bot', [{ id: 'b', name: 'f' }]),
    answered('b'),
    userEvent('go'),
    functionCallEvent('bot', [{ id: 'c', name: 'f' }]),
    modelEvent('bot', 'waiting'),
    userEvent('and?'),
    modelEvent('bot', 'still waiting'),
    answered('c'),
  ];
  const answer = [
    { role: 'model', parts: [{ functionCall: { id: 'c', name: 'f' } }] },
    { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'f', response: { id: 'c' } } }] },
  ];
  const contents = turnContents(contextOf(events));
  expect(textsOf(contents)).toEqual(['go', 'and?', undefined, undefined]);
  expect(contents.slice(2)).toEqual(answer);
  expect(turnContents(contextOf([...events, functionCallEvent('bot', [{ id: 'd', name: 'f' }])]))).toHaveLength(8);
  expect(textsOf(turnContents(contextOf([...events, userEvent('new')])))).toEqual(['new']);
});

test('a response without a call does not change the current turn', () => {
  const lost = functionResponseEvent('user', [{ id: 'lost', name: 'f', response: {} }]);
  expect(textsOf(turnContents(contextOf([userEvent('one'), userEvent('two'), lost])))).toEqual(['two']);
});

test('events that the agent does not see do not begin a turn', () => {
  const events = [
    userEvent('hello'),
    modelEvent('bot', 'hi'),
    modelEvent('guide', [{ text: 'hm', thought: true }]),
    createEvent({ author: 'guide', actions: { stateDelta: { key: 1 } } }),
  ];
  expect(textsOf(turnContents(contextOf(events)))).toEqual(['hello', 'hi']);
});

test('events of another branch do not begin a turn', () => {
  const events = [
    userEvent('hello'),
    modelEvent('bot', 'hi', { branch: 'lead.bot' }),
    modelEvent('guide', 'beside', { branch: 'lead.guide' }),
  ];
  const { agent, invocation } = contextOf(events);
  expect(textsOf(turnContents({ agent, invocation, branch: 'lead.bot' }))).toEqual(['hello', 'hi']);
});

test('the current turn has no response to a call of another agent from before it', () => {
  const events = [
    userEvent('one'),
    functionCallEvent('guide', [{ id: 'c', name: 'f' }], { longRunningToolIds: ['c'] }),
    userEvent('two'),
    functionCallEvent('bot', [{ id: 'd', name: 'f' }], { longRunningToolIds: ['d'] }),
    createEvent({
      author: 'user',
      content: {
        role: 'user',
        parts: ['c', 'd'].map((id) => ({ functionResponse: { id, name: 'f', response: {} } })),
      },
    }),
  ];
  const contents = turnContents(contextOf(events));
  expect(contents.flatMap(({ parts = [] }) => parts.map((part) => part.text ?? Object.keys(part)[0]))).toEqual([
    'two',
    'functionCall',
    'functionResponse',
  ]);
});

test('sessionContents returns an empty list for a session without events', () => {
  expect(turnContents(contextOf([]))).toEqual([]);
  expect(sessionContents(contextOf([]))).toEqual([]);
});
