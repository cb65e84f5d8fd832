import { expect, test } from 'vitest';
import type { Part } from '../content/content.ts';
import { createEvent } from './create-event.ts';
import type { Event } from './event.ts';
import { hasBeginOfRun } from './run-events.ts';

const event = (invocationId: string, author: string, part: Part, agentState?: Record<string, unknown>): Event =>
  createEvent({ invocationId, author, content: { parts: [part] }, ...(agentState ? { actions: { agentState } } : {}) });
const says = (run: string): Event => event(run, 'user', { text: 'hi' });
const call = (run: string, id: string): Event => event(run, 'agent', { functionCall: { id, name: 'ask' } });
const answer = (run: string, id: string, state?: Record<string, unknown>): Event =>
  event(run, 'user', { functionResponse: { id, name: 'ask', response: {} } }, state);

test('a run begins with the message of the user, not with an event of an agent', () => {
  expect(hasBeginOfRun([says('one'), call('one', 'a')], 'one')).toBe(true);
  expect(hasBeginOfRun([call('one', 'a')], 'one')).toBe(false);
  expect(hasBeginOfRun([says('one')], 'two')).toBe(false);
});

test('an answer that continues a run does not begin it, whichever calls have its id', () => {
  expect(hasBeginOfRun([answer('one', 'a', { continues: true }), call('one', 'b')], 'one')).toBe(false);
  expect(hasBeginOfRun([call('two', 'a'), answer('one', 'a', { continues: true })], 'one')).toBe(false);
});

test('the message to an agent in a sub-invocation does not begin a run', () => {
  expect(hasBeginOfRun([{ ...says('one'), branch: 'caller.called@a' }], 'one')).toBe(false);
  expect(hasBeginOfRun([{ ...says('one'), branch: 'caller.called' }], 'one')).toBe(true);
});

test('an answer to another run may begin one', () => {
  expect(hasBeginOfRun([call('one', 'a'), answer('two', 'a'), call('two', 'b')], 'two')).toBe(true);
  expect(hasBeginOfRun([answer('two', 'a', { resumable: true })], 'two')).toBe(true);
});
