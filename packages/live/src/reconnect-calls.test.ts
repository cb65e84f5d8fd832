import { getFunctionCalls, type RunConfig } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { Gate, ScriptedLiveModel, type ScriptedLiveScript, ScriptedModel } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, END, handle, RESUMED, user } from './fixtures/live-messages.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { LiveRequestQueue } from './live-request-queue.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

const NOT_RESUMABLE = { liveSessionResumptionUpdate: { resumable: false } };

/** Matches the pending response that is given for a call that still runs. */
function pending(name: string, id: string) {
  const response: unknown = expect.objectContaining({ status: 'pending' });
  return { role: 'user', parts: [{ functionResponse: { id, name, response } }] };
}

/** A tool that completes when the connection after that of its call is open. */
function slowTool(model: () => ScriptedLiveModel) {
  return new FunctionTool({
    name: 'slow',
    description: '',
    execute: async () => {
      await model().connection(1);
      return { done: true };
    },
  });
}

const ANSWER = { toolResponses: [{ id: 'c1', name: 'slow', response: { done: true } }] };

const IN_WORDS = { content: user('Function slow, called earlier with {"n":1}, returned: {"done":true}') };

test.each<[string, RunConfig, ScriptedLiveScript, object[]]>([
  [
    'the handle was given before the call',
    RESUMED,
    [handle('h'), call('slow', 'c1', { n: 1 }), { ends: 1006 }],
    [ANSWER],
  ],
  [
    'the handle stands for what was before the call',
    RESUMED,
    [handle('h'), NOT_RESUMABLE, call('slow', 'c1', { n: 1 }), { ends: 1006 }],
    [IN_WORDS],
  ],
  [
    'a newer handle stands for the call too',
    RESUMED,
    [handle('h'), NOT_RESUMABLE, call('slow', 'c1', { n: 1 }), handle('i'), { ends: 1006 }],
    [ANSWER],
  ],
  [
    'there is no handle',
    {},
    [{ heard: 'content' }, call('slow', 'c1', { n: 1 }), { ends: 1006 }],
    [
      // Nothing is answered before the response is there.
      { history: [user('go'), call('slow', 'c1', { n: 1 }).content, pending('slow', 'c1')], isWaiting: true },
      IN_WORDS,
    ],
  ],
])(
  'a response reaches the model after its connection was lost, in a form the next one accepts: %s',
  async (_, config, first, sent) => {
    const model: ScriptedLiveModel = new ScriptedLiveModel([first, [{ heard: /done/ }, 'Done', END]]);
    const agent = new LlmAgent({ name: 'bot', model, tools: [slowTool(() => model)] });
    const { queue, stream, stored } = await liveScenario({ agent, runConfig: config, delays: [] });
    if (!('sessionResumption' in config)) queue.sendContent(user('go'));
    await readTurns(stream, queue);
    expect(model.connections[1]?.sent).toEqual(sent);
    const response = { id: 'c1', name: 'slow', response: { done: true } };
    expect((await stored()).flatMap(({ content }) => content?.parts ?? [])).toContainEqual({
      functionResponse: response,
    });
    model.assertConsumed();
  },
);

test('a response is given in words to a session that did not make the call, also if an agent that the call runs makes one with its id', async () => {
  const model: ScriptedLiveModel = new ScriptedLiveModel([
    [{ heard: 'content' }, call('in', 'c1', { request: 'r' }), { ends: 1006 }],
    [{ heard: /said/ }, 'Done', END],
  ]);
  const inner = new LlmAgent({
    name: 'in',
    description: '',
    model: new ScriptedModel([{ calls: [{ id: 'c1', name: 'find' }] }, 'said']),
    beforeModelCallback: async () => {
      await model.connection(1);
    },
    tools: [new FunctionTool({ name: 'find', description: '', execute: () => 'found' })],
  });
  const agent = new LlmAgent({ name: 'bot', model, tools: [new AgentTool({ agent: inner })] });
  const { queue, stream } = await liveScenario({ agent, delays: [] });
  queue.sendContent(user('go'));
  await readTurns(stream, queue);
  const inWords = user('Function in, called earlier with {"request":"r"}, returned: {"result":"said"}');
  expect(model.connections[1]?.sent.slice(1)).toEqual([{ content: inWords }]);
});

test('an ended invocation continues without a connection until its calls are done', async () => {
  const model: ScriptedLiveModel = new ScriptedLiveModel([
    [handle('h'), call('slow', 'c1'), call('hang_up', 'c2'), { heard: /bye/ }, { ends: 1006 }],
  ]);
  const slow = new FunctionTool({
    name: 'slow',
    description: '',
    execute: async () => (await model.connection(0)).ended.then(() => ({ done: true })),
  });
  const hangUp = new FunctionTool({
    name: 'hang_up',
    description: '',
    execute: (_, { invocationContext }) => {
      invocationContext.endInvocation = true;
      return 'bye';
    },
  });
  const { stream, stored } = await liveScenario({
    agent: new LlmAgent({ name: 'bot', model, tools: [slow, hangUp] }),
    runConfig: RESUMED,
    delays: [],
  });
  for await (const _ of stream);
  const responses = (await stored()).flatMap(({ content }) => content?.parts?.[0]?.functionResponse?.response ?? []);
  expect(responses).toEqual([{ result: 'bye' }, { done: true }]);
});

test('a response that arrives after the history was built is sent as text after it', async () => {
  const gate = new Gate();
  const model = new ScriptedLiveModel([
    [{ heard: 'content' }, call('quick', 'c1'), { ends: 1006 }],
    { gate, steps: [{ heard: /result/ }, 'Done', END] },
  ]);
  const quick = new FunctionTool({
    name: 'quick',
    description: '',
    execute: async () => gate.reached.then(() => 'done'),
  });
  const { queue, stream } = await liveScenario({
    agent: new LlmAgent({ name: 'bot', model, tools: [quick] }),
    delays: [],
  });
  queue.sendContent(user('go'));
  for await (const event of stream) {
    if (event.content?.parts?.[0]?.functionResponse) gate.open();
    if (event.turnComplete) queue.close();
  }
  // The request was made before the response was there.
  expect(model.connections[1]?.sent).toEqual([
    { history: [user('go'), call('quick', 'c1').content, pending('quick', 'c1')], isWaiting: true },
    { content: user('Function quick, called earlier with {}, returned: {"result":"done"}') },
  ]);
});

test('a response that arrives before the history was built is part of it, and is not sent again', async () => {
  const lost = new Gate();
  const answered = Promise.withResolvers<void>();
  const gate = new Gate();
  const model = new ScriptedLiveModel([
    [{ heard: 'content' }, call('quick', 'c1'), { ends: 1006 }],
    { gate, steps: [{ heard: 'history' }, { heard: /more/ }, 'Done', END] },
  ]);
  const quick = new FunctionTool({
    name: 'quick',
    description: '',
    execute: async () => lost.pass().then(() => 'done'),
  });
  const instruction = async (): Promise<string> => {
    if (model.attempts === 0) return '';
    lost.open();
    await answered.promise;
    return '';
  };
  const { queue, stream } = await liveScenario({
    agent: new LlmAgent({ name: 'bot', model, tools: [quick], instruction }),
    delays: [],
  });
  queue.sendContent(user('go'));
  void gate.reached.then(() => {
    gate.open();
    queue.sendContent(user('more'));
  });
  for await (const event of stream) {
    if (event.content?.parts?.[0]?.functionResponse) answered.resolve();
    if (event.turnComplete) queue.close();
  }
  expect(model.connections[1]?.sent).toEqual([
    { history: [user('go'), call('quick', 'c1').content, { role: 'user', parts: [expect.anything()] }] },
    { content: user('more') },
  ]);
});

test('a rebuilt history ends with the newest response, without model text since its call', async () => {
  const answered = Promise.withResolvers<void>();
  const model: ScriptedLiveModel = new ScriptedLiveModel([
    [{ heard: 'content' }, call('quick', 'c1'), 'Let me look', END, { ends: 1006 }],
    [{ heard: 'history' }, 'Done', END],
  ]);
  const quick = new FunctionTool({ name: 'quick', description: '', execute: async () => answered.promise });
  const instruction = async (): Promise<string> => {
    if (model.attempts > 0) await responded.promise;
    return '';
  };
  const responded = Promise.withResolvers<void>();
  const { queue, stream } = await liveScenario({
    agent: new LlmAgent({ name: 'bot', model, tools: [quick], instruction }),
    delays: [],
  });
  queue.sendContent(user('go'));
  let turns = 0;
  for await (const event of stream) {
    if (event.content?.parts?.[0]?.functionResponse) responded.resolve();
    if (event.turnComplete && ++turns === 1) answered.resolve();
    if (turns === 2) queue.close();
  }
  const functionResponse = { id: 'c1', name: 'quick', response: { result: null } };
  expect(model.connections[1]?.sent).toEqual([
    { history: [user('go'), call('quick', 'c1').content, { role: 'user', parts: [{ functionResponse }] }] },
  ]);
});

test("the result of a call of an earlier run is sent as text, because the service does not know the call's id", async () => {
  const model = new ScriptedLiveModel([
    [call('order', 'c1'), END],
    [{ heard: /delivered/ }, END],
  ]);
  const order = new LongRunningFunctionTool({ name: 'order', description: '', execute: () => ({ state: 'sent' }) });
  const agent = new LlmAgent({ name: 'bot', model, tools: [order] });
  const { startLive } = await liveScenario({ agent });
  for (const response of [undefined, { state: 'delivered' }]) {
    const queue = new LiveRequestQueue();
    if (response) queue.sendToolResponse({ id: 'c1', name: 'order', response });
    await readTurns(startLive(queue), queue);
  }
  expect(model.connections[1]?.sent.slice(1)).toEqual([
    { content: user('Function order, called earlier with {}, returned: {"state":"delivered"}') },
  ]);
});

test("after a transfer the answer to a confirmation runs the call, and the active agent's model gets the result", async () => {
  const runs: string[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    requireConfirmation: true,
    execute: (_, { agentName }) => {
      runs.push(agentName);
      return { paid: true };
    },
  });
  const childModel = new ScriptedLiveModel([[{ heard: 'history' }, 'Hello', { heard: /paid/ }, END]]);
  const child = new LlmAgent({ name: 'child', model: childModel });
  const model = new ScriptedLiveModel([
    [call('pay', 'c1'), { heard: /confirmation/ }, call('transfer_to_agent', 'c2', { agent_name: 'child' })],
  ]);
  const { queue, stream, stored } = await liveScenario({
    agent: new LlmAgent({ name: 'root', model, tools: [pay], subAgents: [child] }),
    delays: [],
  });
  let question: { id?: string; name?: string } | undefined;
  for await (const event of stream) {
    const [asked] = getFunctionCalls(event);
    if (asked?.name === 'adk_request_confirmation') question = asked;
    if (event.partial && event.author === 'child')
      queue.sendToolResponse({ id: question?.id ?? '', name: question?.name ?? '', response: { confirmed: true } });
    if (event.turnComplete) queue.close();
  }
  expect(runs).toEqual(['root']);
  expect(childModel.connections[0]?.sent.slice(1)).toEqual([
    { content: user('Function pay, called earlier by root with {}, returned: {"paid":true}') },
  ]);
  const paid = (await stored()).filter(({ content }) => content?.parts?.[0]?.functionResponse?.response?.['paid']);
  expect(paid.map(({ author }) => author)).toEqual(['root']);
});
