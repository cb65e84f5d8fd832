import { type BaseAgent, getFunctionResponses, type RunConfig } from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { Gate, ScriptedLiveModel, type ScriptedLiveScript } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END } from './fixtures/live-messages.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

const INTERRUPTED = expect.objectContaining({ error: 'interrupted' }) as object;

async function setup(agent: BaseAgent, runConfig: RunConfig = {}) {
  const { stored, ...run } = await liveScenario({ agent, runConfig });
  const responses = async () =>
    (await stored()).flatMap(getFunctionResponses).map(({ name, response }) => [name, response]);
  return { ...run, responses };
}

function speaker(name: string, script: ScriptedLiveScript, config: Partial<LlmAgentConfig> = {}) {
  const model = new ScriptedLiveModel([script]);
  return { model, agent: new LlmAgent({ name, model, ...config }) };
}

function calls(...named: [name: string, args?: Record<string, unknown>][]) {
  const parts = named.map(([name, args = {}], index) => ({ functionCall: { id: `c${index}`, name, args } }));
  return { content: { role: 'model', parts } };
}

/** A tool that runs until the gate opens, and ignores its abort signal. */
function slow(gate: Gate) {
  return new FunctionTool({ name: 'slow', description: '', execute: () => gate.pass().then(() => 'booked') });
}

const COMPLETED = ['task_completed', { result: 'Task completion signaled.' }];

const SPEECH = { data: 'AA==', mimeType: 'audio/pcm' };

test.each([
  ['is lost', {}, []],
  ['has no time left and no successor', { liveReconnect: false }, [{ goAway: { timeLeftMs: 0 } }]],
])('an agent that waits to transfer opens no connection for an agent that %s', async (_, runConfig, last) => {
  const gate = new Gate();
  const completed = new Gate();
  // Another connection would be refused: its script has one.
  const first = speaker('first', [calls(['slow'], ['task_completed']), completed, ...last, { ends: 1006 }], {
    tools: [slow(gate)],
  });
  const second = speaker('second', [{ heard: /booked/ }, 'Hello', END, calls(['task_completed'])]);
  const agent = new SequentialAgent({ name: 'line', subAgents: [first.agent, second.agent] });
  const { stream, responses } = await setup(agent, runConfig);
  void first.model.connection(0).then(async (connection) => {
    await connection.ended;
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    gate.open();
  });
  for await (const event of stream) if (getFunctionResponses(event).length > 0) completed.open();
  expect(first.model.attempts).toBe(1);
  expect(await responses()).toEqual([COMPLETED, ['slow', { result: 'booked' }], COMPLETED]);
});

test('of several transfers in one model message the first runs, and the others are answered as interrupted', async () => {
  const second = speaker('second', []);
  const third = speaker('third', ['Hello', END]);
  const transfers = calls(
    ['transfer_to_agent', { agent_name: 'third' }],
    ['transfer_to_agent', { agent_name: 'second' }],
  );
  const subAgents = [second.agent, third.agent];
  const { agent } = speaker('first', [transfers], { subAgents });
  const { queue, stream, responses } = await setup(agent);
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect(await responses()).toEqual([
    ['transfer_to_agent', expect.not.objectContaining({ error: expect.anything() as unknown })],
    ['transfer_to_agent', INTERRUPTED],
  ]);
  expect(second.model.attempts).toBe(0);
});

test('a transfer waits for the running tool calls, and the next agent gets their results and the audio sent meanwhile', async () => {
  const gate = new Gate();
  const completed = new Gate();
  // A call that the model makes during the hand-over is not run.
  const first = speaker('first', [calls(['slow'], ['task_completed']), completed, calls(['slow']), 'Meanwhile'], {
    tools: [slow(gate)],
  });
  const second = speaker('second', [{ heard: /booked/ }, { heard: 'blob' }, 'Hello', END, calls(['task_completed'])]);
  const agent = new SequentialAgent({ name: 'line', subAgents: [first.agent, second.agent] });
  // The limit of one call at a time does not delay the hand-over.
  const { queue, stream, responses } = await setup(agent, { maxParallelToolCalls: 1 });
  for await (const event of stream) {
    if (getFunctionResponses(event)[0]?.name === 'task_completed' && event.author === 'first') {
      queue.sendRealtime(SPEECH);
      completed.open();
    }
    if (event.partial && event.author === 'first') gate.open();
  }
  expect(await responses()).toEqual([COMPLETED, ['slow', { result: 'booked' }], COMPLETED]);
  expect(first.model.connections[0]?.sent.filter((sent) => 'blob' in sent)).toEqual([]);
  second.model.assertConsumed();
});

test('a hang-up while a transfer waits for tool calls interrupts them, and the next agent gets the audio sent before it', async () => {
  const first = speaker('first', [calls(['slow'], ['task_completed'])], { tools: [slow(new Gate())] });
  const second = speaker('second', [{ heard: /interrupted/ }, { heard: 'blob' }]);
  const agent = new SequentialAgent({ name: 'line', subAgents: [first.agent, second.agent] });
  const { queue, stream, responses } = await setup(agent);
  for await (const event of stream) {
    if (getFunctionResponses(event)[0]?.name !== 'task_completed') continue;
    queue.sendRealtime(SPEECH);
    queue.close();
  }
  expect(await responses()).toEqual([COMPLETED, ['slow', INTERRUPTED]]);
  expect(second.model.connections[0]?.sent).toContainEqual({ blob: SPEECH });
});

test('of two transfers in separate messages one runs, and the other is answered as interrupted', async () => {
  const gate = new Gate();
  const near = speaker('near', ['Hello', END]);
  const far = speaker('far', []);
  const root = speaker(
    'root',
    [calls(['transfer_to_agent', { agent_name: 'far' }], ['transfer_to_agent', { agent_name: 'near' }])],
    {
      subAgents: [near.agent, far.agent],
      beforeToolCallback: async ({ args }) => {
        if (args['agent_name'] === 'far') await gate.pass();
        return undefined;
      },
    },
  );
  const { queue, stream, responses } = await setup(root.agent);
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect(await responses()).toEqual([
    ['transfer_to_agent', { result: 'Transfer queued' }],
    ['transfer_to_agent', INTERRUPTED],
  ]);
  near.model.assertConsumed();
});

test.each<[string, Partial<LlmAgentConfig>]>([
  ['the tool', {}],
  ['beforeToolCallback', { beforeToolCallback: () => new Promise(() => undefined) }],
  ['afterToolCallback', { afterToolCallback: () => new Promise(() => undefined) }],
  ['onToolErrorCallback', { onToolErrorCallback: () => new Promise(() => undefined) }],
])(
  'a call whose %s never settles does not keep the run open, and has a stored response afterwards',
  async (which, config) => {
    const tool = new FunctionTool({
      name: 'book',
      description: '',
      execute: () => {
        if (which === 'onToolErrorCallback') throw new TypeError('no');
        return which === 'the tool' ? new Promise(() => undefined) : 'booked';
      },
    });
    const bot = speaker('bot', [calls(['book']), 'Well'], { tools: [tool], ...config });
    const { queue, stream, responses } = await setup(bot.agent);
    for await (const event of stream) if (event.partial) queue.close();
    expect(await responses()).toEqual([['book', INTERRUPTED]]);
  },
);

test('two calls with the same id are both stopped when the run ends', async () => {
  const never = new FunctionTool({ name: 'never', description: '', execute: () => new Promise(() => undefined) });
  const bot = speaker('bot', [calls(['never']), calls(['never']), 'Well'], { tools: [never] });
  const { queue, stream, responses } = await setup(bot.agent);
  for await (const event of stream) if (event.partial) queue.close();
  expect(await responses()).toEqual([
    ['never', INTERRUPTED],
    ['never', INTERRUPTED],
  ]);
});
