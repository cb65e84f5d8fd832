import { type BaseAgent, LiveConnectionError, type RunConfig } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedLiveModel, type ScriptedLiveScript } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, user } from './fixtures/live-messages.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

const GIVEN: RunConfig = { sessionResumption: { handle: 'yesterday' } };

function speaker(name: string, scripts: readonly ScriptedLiveScript[], subAgents: readonly BaseAgent[] = []) {
  const model = new ScriptedLiveModel(scripts);
  return { model, agent: new LlmAgent({ name, model, subAgents }) };
}

function call(name: string, args = {}) {
  return { content: { role: 'model', parts: [{ functionCall: { id: 'c1', name, args } }] } };
}

/** Returns the handle that each connection requested, and the number of contents it was given. */
function asked({ connections }: ScriptedLiveModel) {
  return connections.map(({ request }) => [request.config['sessionResumption'], request.contents.length > 0]);
}

test.each(['hands over', 'is done'])(
  'a given handle is used by the first connection only: after an agent that %s the next agent gets the history',
  async (how) => {
    const isTransfer = how === 'hands over';
    const second = speaker('second', [[{ heard: 'history' }, 'Second', END]]);
    const gone = isTransfer ? call('transfer_to_agent', { agent_name: 'second' }) : call('task_completed');
    const first = speaker('first', [[{ heard: 'content' }, gone]], isTransfer ? [second.agent] : []);
    const agent = isTransfer
      ? first.agent
      : new SequentialAgent({ name: 'line', subAgents: [first.agent, second.agent] });
    const { queue, stream } = await liveScenario({ agent, runConfig: GIVEN });
    queue.sendContent(user('hi'));
    for await (const event of stream) if (event.turnComplete) queue.close();
    expect(asked(first.model)).toEqual([[{ handle: 'yesterday' }, false]]);
    expect(asked(second.model)).toEqual([[{}, true]]);
  },
);

test('a resumption handle that the service refused is not sent again', async () => {
  const refused = new LiveConnectionError('unknown', { isRetryable: false, isHandleRefused: true });
  const { model, agent } = speaker('bot', [refused, ['Hello', END]]);
  const { queue, stream } = await liveScenario({ agent, runConfig: GIVEN });
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect(asked(model)).toEqual([[{}, false]]);
});

test('a resumption handle that the service refused is not sent by the next agent either', async () => {
  const refused = new LiveConnectionError('unknown', { isRetryable: false, isHandleRefused: true });
  const model = new ScriptedLiveModel([refused]);
  const first = new LlmAgent({
    name: 'first',
    model,
    // The callback replies in the model's place when another connection is about to be opened.
    beforeModelCallback: () =>
      model.attempts > 0 ? { content: { role: 'model', parts: [{ text: 'Bye' }] } } : undefined,
  });
  const second = speaker('second', [['Hello', END, call('task_completed')]]);
  const agent = new SequentialAgent({ name: 'line', subAgents: [first, second.agent] });
  const { stream } = await liveScenario({ agent, runConfig: GIVEN });
  for await (const _ of stream);
  expect(asked(second.model)).toEqual([[{}, true]]);
});

test('the reader gets resumption handles, and they are not stored', async () => {
  const update = { newHandle: 'h1', resumable: true };
  const { agent } = speaker('bot', [
    [
      { liveSessionResumptionUpdate: { resumable: false } },
      'Hello',
      { liveSessionResumptionUpdate: update, turnComplete: true },
    ],
  ]);
  const { queue, stream, stored } = await liveScenario({ agent, runConfig: { sessionResumption: {} } });
  const updates: unknown[] = [];
  for await (const event of stream) {
    const { liveSessionResumptionUpdate: found, content, author, partial } = event;
    if (found) updates.push([author, partial, content, found]);
    if (event.turnComplete) queue.close();
  }
  expect(updates).toEqual([
    ['bot', undefined, undefined, { resumable: false }],
    ['bot', undefined, undefined, update],
  ]);
  expect((await stored()).map(({ content, turnComplete }) => content?.parts?.[0]?.text ?? turnComplete)).toEqual([
    'Hello',
    true,
  ]);
});
