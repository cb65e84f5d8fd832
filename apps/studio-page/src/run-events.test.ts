import { modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { agentAtWork } from './run-events.ts';

const run = { invocationId: 'e-1' };
const record = (object: string) => modelEvent('demo', [], { ...run, object });
const events = [
  userEvent('Hi', run),
  modelEvent('chief', 'One moment.', run),
  record('runner.streamed'),
  modelEvent('child', 'Approve?', run),
  userEvent('Yes', run),
  record('runner.streamed'),
  modelEvent('child', 'Done.', run),
  record('runner.end'),
  userEvent('Thanks', { invocationId: 'e-2' }),
  modelEvent('chief', 'Bye.', { invocationId: 'e-2' }),
];

test('the agent at work is the next one of the run, also before a record of the runner, whose author is the app', () => {
  expect(events.map((_event, index) => agentAtWork(events, index + 1))).toEqual([
    'chief',
    'child',
    'child',
    // The run waits for the user.
    undefined,
    'child',
    'child',
    // The run ends.
    undefined,
    undefined,
    'chief',
    undefined,
  ]);
});
