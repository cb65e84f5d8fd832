import { BasePlugin, type Event, getFunctionResponses, type InvocationContext, type RunConfig } from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { AgentTool, SequentialAgent } from '@eventloom/multi-agent';
import { Gate, ScriptedLiveModel, ScriptedModel, type ScriptedLiveScript } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, user } from './fixtures/live-messages.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

interface Setup {
  readonly agent?: Partial<LlmAgentConfig>;
  readonly next?: LlmAgent;
  readonly plugins?: BasePlugin[];
  readonly runConfig?: RunConfig;
}

async function setup(script: ScriptedLiveScript, { agent, next, plugins = [], runConfig }: Setup) {
  const model = new ScriptedLiveModel([script]);
  const bot = new LlmAgent({ name: 'bot', model, ...agent });
  const line = next ? new SequentialAgent({ name: 'line', subAgents: [bot, next] }) : bot;
  return liveScenario({ model, agent: line, plugins, ...(runConfig && { runConfig }) });
}

function summarize({ content, turnComplete, errorCode }: Event): string {
  const [part] = content?.parts ?? [];
  if (errorCode !== undefined) return errorCode;
  if (part?.functionCall) return `${part.functionCall.name}()`;
  if (part?.functionResponse) return `${part.functionResponse.name}=${JSON.stringify(part.functionResponse.response)}`;
  return part?.text ?? (turnComplete ? 'end' : '');
}

const hangUp = new FunctionTool({
  name: 'hang_up',
  description: '',
  execute: (_, { invocationContext }) => {
    invocationContext.endInvocation = true;
    return 'bye';
  },
});

function slowTool(gate: Gate): FunctionTool {
  const execute = async (): Promise<string> => {
    await gate.pass();
    return 'slow';
  };
  return new FunctionTool({ name: 'slow', description: '', execute });
}

test('a tool that ends the invocation and the calls beside it get responses while the model continues to speak', async () => {
  const gate = new Gate();
  const slow = slowTool(gate);
  const second = new ScriptedLiveModel([]);
  const { model, stream, stored } = await setup(
    [
      call('slow', 'c1'),
      call('hang_up', 'c2'),
      { heard: /bye/ },
      'Good',
      'bye',
      call('slow', 'c3'),
      async () => {
        gate.open();
        return [];
      },
    ],
    { agent: { tools: [slow, hangUp] }, next: new LlmAgent({ name: 'next', model: second }) },
  );
  for await (const _ of stream);
  expect((await stored()).map(summarize)).toEqual([
    'slow()',
    'hang_up()',
    'hang_up={"result":"bye"}',
    'Goodbye',
    'slow()',
    'slow={"result":"slow"}',
    'slow={"error":"interrupted","message":"The run or the agent ended before the call began."}',
  ]);
  expect(model.connections[0]?.isClosed).toBe(true);
  expect(second.attempts).toBe(0);
});

test('a tool with an input stream does not keep an ended invocation open', async () => {
  const listen = new FunctionTool({
    name: 'listen',
    description: '',
    inputStream: true,
    execute: async function* (_, { inputStream }) {
      for await (const _request of inputStream ?? []) yield 'heard';
    },
  });
  const { stream, stored } = await setup(
    [call('listen', 'c1'), { heard: /its results follow/ }, call('hang_up', 'c2')],
    {
      agent: { tools: [listen, hangUp] },
    },
  );
  for await (const _ of stream);
  expect((await stored()).at(-1)).toMatchObject({ content: { parts: [{ functionResponse: { name: 'hang_up' } }] } });
});

test('a plugin that ends the invocation ends the run after the current event', async () => {
  class Ender extends BasePlugin {
    override onEventCallback({
      invocationContext,
      event,
    }: {
      invocationContext: InvocationContext;
      event: Event;
    }): undefined {
      if (event.partial === undefined && event.content) invocationContext.endInvocation = true;
      return undefined;
    }
  }
  const { stream, stored } = await setup(['Hi', { generationComplete: true }, 'never'], {
    plugins: [new Ender('ender')],
  });
  for await (const _ of stream);
  expect((await stored()).map(summarize)).toEqual(['Hi']);
});

test('a run whose service hangs up stores the results of calls and the text that was not sent, and opens no other connection', async () => {
  const gate = new Gate();
  const slow = slowTool(gate);
  const { model, queue, stream, stored } = await setup(
    [{ heard: 'content' }, call('slow', 'c1'), 'Bye', { turnComplete: true }, { ends: 'hangUp' }],
    { agent: { tools: [slow] } },
  );
  queue.sendContent(user('hi'));
  for await (const event of stream) {
    if (event.turnComplete !== true) continue;
    void model.connections[0]?.ended.then(() => {
      queue.sendContent(user('wait'));
      queue.sendContent(user('please'));
      gate.open();
    });
  }
  expect((await stored()).map(summarize)).toEqual([
    'hi',
    'slow()',
    'Bye',
    'end',
    'wait',
    'slow={"result":"slow"}',
    'please',
  ]);
  expect(model.attempts).toBe(1);
});

test('the next agent of a sequence begins after the service hung up', async () => {
  const second = new ScriptedLiveModel([['Hello', { turnComplete: true }, { ends: 'hangUp' }]]);
  const { stream, stored } = await setup(['Bye', { turnComplete: true }, { ends: 'hangUp' }], {
    next: new LlmAgent({ name: 'next', model: second }),
  });
  for await (const _ of stream);
  expect((await stored()).map(summarize)).toEqual(['Bye', 'end', 'Hello', 'end']);
});

test('connections count towards maxLlmCalls, so that repeated losses end the run', async () => {
  const { stream, stored, model } = await setup(['Hi', { turnComplete: true }, { ends: 1006 }], {
    runConfig: { maxLlmCalls: 1 },
  });
  await expect(
    (async () => {
      for await (const _ of stream);
    })(),
  ).rejects.toMatchObject({ code: 'LLM_CALL_LIMIT' });
  expect((await stored()).map(summarize)).toEqual(['Hi', 'end', 'LLM_CALL_LIMIT']);
  expect(model.attempts).toBe(1);
});

test('calls of agents inside AgentTool get responses when the client hangs up', async () => {
  const began = Promise.withResolvers<void>();
  const search = new FunctionTool({
    name: 'search',
    description: '',
    execute: (_, { invocationContext }) => {
      began.resolve();
      return new Promise((_resolve, reject) => {
        invocationContext.abortSignal.addEventListener('abort', () => reject(new Error('stopped')));
      });
    },
  });
  const searching = new ScriptedModel([{ calls: [{ id: 'c2', name: 'search', args: {} }] }]);
  const clerk = new LlmAgent({ name: 'clerk', model: searching, tools: [search] });
  const { queue, stream, stored } = await liveScenario({
    model: [[{ heard: 'content' }, call('clerk', 'c1', { request: 'find' })]],
    agent: { tools: [new AgentTool({ agent: clerk })] },
  });
  queue.sendContent(user('go'));
  void began.promise.then(() => queue.close());
  const heard: Event[] = [];
  for await (const event of stream) heard.push(event);
  const responses = (await stored()).flatMap(getFunctionResponses);
  expect(responses.map(({ id, response }) => [id, response?.['error']])).toEqual([
    ['c2', 'interrupted'],
    ['c1', 'interrupted'],
  ]);
  expect(heard.flatMap(getFunctionResponses).map(({ id }) => id)).toEqual(['c1']);
});
