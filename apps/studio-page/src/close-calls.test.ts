import type { Event } from '@eventloom/core';
import { functionCallEvent, functionResponseEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { closeCalls } from './close-calls.ts';

const on = (branch: string) => ({ invocationId: 'e', branch });
const look = { id: 'c', name: 'look', args: {} };
const request = {
  id: 'q',
  name: 'adk_request_confirmation',
  args: { originalFunctionCall: { id: 'c', name: 'look' } },
};

/** The responses and the ends of runs that `closeCalls` adds: the ids of the calls with their branches, and the ids of the runs. */
const added = (events: readonly Event[]): unknown[] =>
  closeCalls(events)
    .slice(events.length)
    .map(({ content, branch, invocationId, object }) =>
      object === 'runner.end' ? `end ${invocationId}` : [content?.parts?.[0]?.functionResponse?.id, branch],
    );

test('a call without a response gets one on its own branch, also if another branch has a call with the id', () => {
  const calls = ['both.a', 'both.b'].map((branch) => functionCallEvent('helper', [look], on(branch)));
  const found = functionResponseEvent('helper', [{ id: 'c', name: 'look', response: {} }], on('both.b'));
  expect(added(calls)).toEqual([
    ['c', 'both.b'],
    ['c', 'both.a'],
  ]);
  expect(added([...calls, found])).toEqual([['c', 'both.a']]);
});

test('a request to a person is answered before the call that it is about', () => {
  const events = [
    functionCallEvent('helper', [look], on('a')),
    functionCallEvent('helper', [request], { ...on('a'), longRunningToolIds: ['q'] }),
    functionResponseEvent('helper', [{ id: 'c', name: 'look', response: { error: 'asks' } }], on('a')),
  ];
  expect(added(events)).toEqual([
    ['q', 'a'],
    ['c', 'a'],
  ]);
});

test('the run of a message that can continue gets an end, and a rewound run none', () => {
  const actions = { stateDelta: {}, artifactDelta: {}, agentState: { resumable: true } };
  const begun = (invocationId: string) => ({ ...userEvent('Go', { invocationId }), actions });
  const rewind = {
    ...userEvent('', { invocationId: 'r' }),
    actions: { ...actions, rewindBeforeInvocationId: 'second' },
  };
  expect(added([begun('first'), begun('second')])).toEqual(['end first', 'end second']);
  expect(added([begun('first'), begun('second'), rewind])).toEqual(['end first']);
});
