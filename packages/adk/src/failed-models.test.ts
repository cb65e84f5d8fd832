import { ModelError } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { InMemoryRunner, LlmAgent, type RunConfig } from './index.ts';

async function talk(model: ScriptedModel, runConfig: RunConfig = {}): Promise<(string | undefined)[]> {
  const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'helper', model }), appName: 'app' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'ann' });
  const codes = [];
  const newMessage = { role: 'user', parts: [{ text: 'Hello?' }] };
  for await (const { errorCode } of runner.runAsync({ userId: 'ann', sessionId, newMessage, runConfig }))
    codes.push(errorCode);
  return codes;
}

test("an error of a model's service ends the run with an error event, and is not thrown", async () => {
  const error = new ModelError('the model is overloaded', { errorCode: 'UNAVAILABLE' });
  expect(await talk(new ScriptedModel([error]))).toEqual(['UNAVAILABLE']);
});

test('another error of a model is thrown, because its event does not have the message', async () => {
  await expect(talk(new ScriptedModel([new Error('the password is 1234')]))).rejects.toThrow('the password is 1234');
});

test('one call too many ends the run with an error event, and is not thrown', async () => {
  const calls = [{ name: 'nothing' }];
  const model = new ScriptedModel([{ calls }, { calls }]);
  expect(await talk(model, { maxLlmCalls: 1 })).toEqual([undefined, undefined, 'LLM_CALL_LIMIT']);
});
