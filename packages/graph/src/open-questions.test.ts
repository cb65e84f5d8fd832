import { createEvent, type Event } from '@eventloom/core';
import { expect, test } from 'vitest';
import { openQuestions } from './open-questions.ts';

const begin = createEvent({ id: 'begin', executionId: 'x', author: 'g' });

function asked(id: string, place: { readonly branch?: string; readonly executionId?: string }): Event {
  const content = { role: 'model', parts: [{ functionCall: { id, name: 'later', args: {} } }] };
  return createEvent({ id: `e-${id}`, author: 'someone', content, longRunningToolIds: [id], ...place });
}

test('questions of a graph are its own and those within its nodes, and not those of agents beside it', () => {
  const events = [
    begin,
    asked('own', { executionId: 'x' }),
    asked('node', { executionId: 'y', branch: 'helper@1-0' }),
    asked('deeper', { executionId: 'z', branch: 'sub@1-0.helper@2-1' }),
    asked('beside', { executionId: 'v', branch: 'both.helper' }),
    asked('tool', { executionId: 'w', branch: 'helper@call-1' }),
  ];
  expect(openQuestions(begin, events).map(({ id }) => id)).toEqual(['own', 'node', 'deeper']);
});

test('questions of a graph on a branch are those on branches below it', () => {
  const onBranch = { ...begin, branch: 'both.g' };
  const events = [
    onBranch,
    asked('node', { executionId: 'y', branch: 'both.g.helper@1-0' }),
    asked('other', { executionId: 'z', branch: 'both.h.helper@1-0' }),
    asked('outside', { executionId: 'v', branch: 'helper@1-0' }),
  ];
  expect(openQuestions(onBranch, events).map(({ id }) => id)).toEqual(['node']);
});

test('what was answered is not asked any more', () => {
  const parts = [{ functionResponse: { id: 'own', name: 'later', response: {} } }];
  const answer = createEvent({ id: 'a', author: 'user', content: { role: 'user', parts } });
  expect(openQuestions(begin, [begin, asked('own', { executionId: 'x' }), answer])).toEqual([]);
});
