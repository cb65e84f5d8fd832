import { expect, test } from 'vitest';
import { scoreSession } from './score-session.ts';

// Sessions in the format of adk-python 2, as its recorder writes them: with nodeInfo, isolationScope, output and empty
// values, without timestamps.
const user = (text: string, invocationId: string) => ({
  author: 'user',
  content: { parts: [{ text }], role: 'user' },
  invocationId,
  nodeInfo: { path: '' },
});
const said = (author: string, path: string, part: object, more: object = {}) => ({
  author,
  content: { parts: [part], role: 'model' },
  finishReason: 'STOP',
  invocationId: 'i-1',
  longRunningToolIds: [],
  nodeInfo: { path },
  ...more,
});
const answered = (author: string, path: string, id: string, name: string, response: object) => ({
  author,
  content: { parts: [{ functionResponse: { id, name, response } }], role: 'user' },
  invocationId: 'i-1',
  nodeInfo: { path },
});

const TASK_CALL = said('desk', 'desk@1', { functionCall: { id: 'fc-1', name: 'clerk', args: { request: 'A book.' } } });
/** The branch that events of a task have beside the scope in adk-python 2.5.0. */
const TASK_BRANCH = { branch: 'clerk@fc-1' };
const IN_TASK = said('clerk', 'desk@1/clerk@fc-1', { text: 'Which title?' }, { isolationScope: 'fc-1' });
const SESSIONS: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
  'a workflow with outputs': [
    user('Go.', 'i-1'),
    { ...said('write', 'flow@1/write@1', { text: 'A text.' }), output: 'A text.' },
    {
      author: 'check',
      invocationId: 'i-1',
      nodeInfo: { path: 'flow@1/check@1', outputFor: ['flow@1'] },
      output: { ok: true, notes: null },
      actions: { stateDelta: { checked: true }, route: 'done' },
    },
  ],
  'an agent that works for one turn in its own scope': [
    user('Buy it.', 'i-1'),
    said('desk', 'desk@1', { functionCall: { id: 'fc-1', name: 'finder', args: { request: 'A book.' } } }),
    said('finder', 'desk@1/finder@fc-1', { text: 'Only the finder reads this.' }, { isolationScope: 'fc-1' }),
    answered('desk', 'desk@1', 'fc-1', 'finder', { result: 'Found.' }),
    said('desk', 'desk@1', { text: 'It is bought.' }),
  ],
  'a task that is finished': [
    user('A book.', 'i-1'),
    TASK_CALL,
    IN_TASK,
    user('Emma.', 'i-1'),
    answered('desk', 'desk@1', 'fc-1', 'clerk', { title: 'Emma' }),
    said('desk', 'desk@1', { text: 'You get Emma.' }),
  ],
  'a request for a confirmation': [
    user('Pay.', 'i-1'),
    said('desk', 'desk@1', { functionCall: { id: 'fc-1', name: 'pay', args: {} } }),
    said(
      'desk',
      'desk@1',
      {
        functionCall: {
          id: 'fc-2',
          name: 'adk_request_confirmation',
          args: {
            originalFunctionCall: { id: 'fc-1', name: 'pay', args: {} },
            toolConfirmation: { confirmed: false, hint: 'Pay?' },
          },
        },
      },
      { longRunningToolIds: ['fc-2'] },
    ),
    {
      ...answered('desk', 'desk@1', 'fc-1', 'pay', { error: 'This tool call requires confirmation.' }),
      actions: {
        requestedToolConfirmations: { 'fc-1': { confirmed: false, hint: 'Pay?' } },
        skipSummarization: true,
      },
    },
  ],
};

test.each(Object.entries(SESSIONS))('%s is read, exported and continued', async (_title, events) => {
  expect(await scoreSession(events)).toEqual({ passed: ['read', 'exported unchanged', 'continued'], faults: [] });
});

test.each([
  ['the branch of its caller', {}],
  ['a branch of its own', TASK_BRANCH],
])('a task on %s that waits for the user gets the message, and reads its conversation', async (_title, place) => {
  const more = said('clerk', 'desk@1/clerk@fc-1', { text: 'Which edition?' }, { isolationScope: 'fc-1', ...place });
  const events = [user('A book.', 'i-1'), TASK_CALL, { ...IN_TASK, ...place }, user('Emma.', 'i-2'), more];
  expect(await scoreSession(events)).toEqual({
    passed: ['read', 'exported unchanged', 'continued by its task agent'],
    faults: [],
  });
});

test('a recording that cannot be read has a fault', async () => {
  const { faults } = await scoreSession([{ ...user('Go.', 'i-1'), content: 'Go.' }]);
  expect(faults).toEqual([expect.stringMatching(/^read: .*content/)]);
});
