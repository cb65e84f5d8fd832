import { createEvent, type Event, type InvocationContext, InvalidMessageError } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { IntentMismatchError, isIntentMismatchError } from './errors.ts';
import { FINISH_TASK_SUCCESS_RESULT, FinishTaskTool } from './finish-task.ts';
import { AdkInMemoryRunner } from './in-memory-runner.ts';
import { AdkLlmAgent } from './llm-agent.ts';
import { BaseLlmRequestProcessor } from './processors.ts';

const MESSAGE = { userId: 'u', sessionId: 's', newMessage: { role: 'user', parts: [{ text: 'Hello' }] } };

class Loud extends BaseLlmRequestProcessor {
  override async *runAsync({ invocationId }: InvocationContext): AsyncGenerator<Event, void, void> {
    yield createEvent({ invocationId, author: 'loud' });
  }
}

test('a processor that yields an event fails the run, and the error says what to write', async () => {
  const agent = new AdkLlmAgent({ name: 'helper', model: new ScriptedModel(['Hi.']), requestProcessors: [new Loud()] });
  const running = new AdkInMemoryRunner({ agent, autoCreateSession: true }).run(MESSAGE);
  await expect(running).rejects.toThrow('agent "helper": a processor yielded an event; only agents yield events');
});

test('a processor without runAsync is refused by its place', () => {
  const model = new ScriptedModel(['Hi.']);
  expect(() => new AdkLlmAgent({ name: 'helper', model, requestProcessors: [{} as never] })).toThrow(
    'agent "helper": requestProcessors[0]: expected a processor with runAsync',
  );
});

test('a FinishTaskTool wraps a result that is not an object, and checks it', async () => {
  const tool = new FinishTaskTool({ type: 'number' });
  const run = (args: Record<string, unknown>): Promise<unknown> => tool.runAsync({ args, toolContext: {} as never });
  expect(tool._getDeclaration().parametersJsonSchema).toEqual({
    type: 'object',
    properties: { result: { type: 'number' } },
    required: ['result'],
  });
  expect(tool.extractOutput({ result: 3 })).toBe(3);
  expect(await run({ result: 3 })).toBe(FINISH_TASK_SUCCESS_RESULT);
  expect(await run({ result: 'three' })).toEqual({ error: expect.stringContaining('does not match the schema') });
  expect(new FinishTaskTool().extractOutput({ result: 'Done.' })).toEqual({ result: 'Done.' });
});

test('answers that match no request are recognised as a mismatch of intent', () => {
  expect(isIntentMismatchError(new IntentMismatchError({ reason: 'arguments_mismatch' }))).toBe(true);
  expect(isIntentMismatchError(new InvalidMessageError('no such call'))).toBe(true);
  expect(isIntentMismatchError(new TypeError('other'))).toBe(false);
});
