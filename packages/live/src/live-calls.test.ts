import { getFunctionResponses, type RunConfig } from '@eventloom/core';
import type { LlmAgentConfig } from '@eventloom/llm-agent';
import { Gate, ScriptedLiveModel, type ScriptedLiveScript } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END } from './fixtures/live-messages.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

async function setup(script: ScriptedLiveScript, agent: Partial<LlmAgentConfig>, runConfig?: RunConfig) {
  const run = await liveScenario({ model: [script], agent, ...(runConfig && { runConfig }) });
  const answers = () =>
    run.model.connections[0]?.sent.flatMap((sent) => ('toolResponses' in sent ? sent.toolResponses : []));
  return { ...run, answers };
}

function calls(...named: [name: string, id: string][]) {
  return { content: { role: 'model', parts: named.map(([name, id]) => ({ functionCall: { id, name, args: {} } })) } };
}

function behaviors(model: ScriptedLiveModel): Record<string, unknown> {
  const tools = model.connections[0]?.request.config.tools as {
    functionDeclarations: { name: string; behavior?: string }[];
  }[];
  return Object.fromEntries(tools.flatMap((tool) => tool.functionDeclarations.map((d) => [d.name, d.behavior])));
}

const nothing = { description: '', execute: () => 'done' };

function ticker(options: { readonly inputStream?: boolean; readonly nonBlocking?: boolean }) {
  return new FunctionTool({
    name: 'ticker',
    description: '',
    ...options,
    execute: async function* (_, toolContext) {
      yield 1;
      toolContext.responseScheduling = 'INTERRUPT';
      yield 2;
    },
  });
}

test('non-blocking tools are declared NON_BLOCKING, and their responses carry their scheduling', async () => {
  const tools = [
    new FunctionTool({ name: 'plain', ...nothing }),
    new FunctionTool({ name: 'beside', ...nothing, nonBlocking: true }),
    new FunctionTool({ name: 'quiet', ...nothing, responseScheduling: 'SILENT' }),
    new FunctionTool({
      name: 'urgent',
      description: '',
      responseScheduling: 'WHEN_IDLE',
      execute: (_, toolContext) => {
        toolContext.responseScheduling = 'INTERRUPT';
        return 'done';
      },
    }),
  ];
  const called = calls(['plain', 'a'], ['beside', 'b'], ['quiet', 'c'], ['urgent', 'd']);
  const heardAll = () => answers()?.length === 4;
  const { model, queue, stream, stored, answers } = await setup([called, { heard: heardAll }, END], { tools });
  await readTurns(stream, queue);
  expect(behaviors(model)).toEqual({
    plain: undefined,
    beside: 'NON_BLOCKING',
    quiet: 'NON_BLOCKING',
    urgent: 'NON_BLOCKING',
  });
  const response = { result: 'done' };
  const expected = [
    { id: 'a', name: 'plain', response },
    { id: 'b', name: 'beside', response },
    { id: 'c', name: 'quiet', response, scheduling: 'SILENT' },
    { id: 'd', name: 'urgent', response, scheduling: 'INTERRUPT' },
  ];
  expect(answers()).toEqual(expected);
  expect((await stored()).flatMap(getFunctionResponses)).toEqual(expected);
});

test("an unknown responseScheduling throws a ConfigurationError, and the tool's own declaration is not modified", () => {
  const make = () => new FunctionTool({ name: 'f', ...nothing, responseScheduling: 'LATER' as 'SILENT' });
  expect(make).toThrow('tool "f": responseScheduling: expected one of SILENT, WHEN_IDLE, INTERRUPT, got "LATER"');
  const tool = new FunctionTool({ name: 'f', ...nothing, nonBlocking: true });
  expect(tool._getDeclaration()).not.toHaveProperty('behavior');
});

test('each chunk of a non-blocking call is a response with willContinue, which is false for the last one', async () => {
  const { queue, stream, stored, answers } = await setup(
    { takesInterimResponses: true, steps: [calls(['ticker', 'c']), { heard: /"willContinue":false/ }, END] },
    { tools: [ticker({ nonBlocking: true })] },
  );
  const events = await readTurns(stream, queue);
  const call = { id: 'c', name: 'ticker' };
  expect(answers()).toEqual([
    { ...call, response: { output: 1 }, willContinue: true },
    { ...call, response: { output: 2 }, scheduling: 'INTERRUPT', willContinue: true },
    { ...call, response: { results: [1, 2] }, scheduling: 'INTERRUPT', willContinue: false },
  ]);
  expect(events.filter((event) => event.partial).map(({ object }) => object)).toEqual([
    'tool.response',
    'tool.response',
  ]);
  expect((await stored()).flatMap(getFunctionResponses)).toEqual([
    { ...call, response: { results: [1, 2] }, scheduling: 'INTERRUPT' },
  ]);
});

test('chunks are sent as text before the result if the service takes one response per call', async () => {
  const { model, queue, stream } = await setup([calls(['ticker', 'c']), { heard: 'toolResponses' }, END], {
    tools: [ticker({ nonBlocking: true })],
  });
  await readTurns(stream, queue);
  expect(model.connections[0]?.sent).toEqual([
    { content: { role: 'user', parts: [{ text: 'Function ticker returned: 1' }] } },
    { content: { role: 'user', parts: [{ text: 'Function ticker returned: 2' }] } },
    { toolResponses: [expect.objectContaining({ response: { results: [1, 2] } })] },
  ]);
});

test('a non-blocking call with an input stream stays open until the model stops it', async () => {
  const watch = new FunctionTool({
    name: 'watch',
    description: '',
    inputStream: true,
    nonBlocking: true,
    execute: async function* (_, { inputStream }) {
      for await (const request of inputStream ?? []) if ('blob' in request) yield request.blob.data;
    },
  });
  const stop = {
    content: {
      role: 'model',
      parts: [{ functionCall: { id: 's', name: 'stop_streaming', args: { function_name: 'watch' } } }],
    },
  };
  const { queue, stream, answers } = await setup(
    {
      takesInterimResponses: true,
      steps: [calls(['watch', 'c']), { heard: /"AA=="/ }, stop, { heard: /stopped watch/ }, END],
    },
    { tools: [watch] },
  );
  for await (const event of stream) {
    if (getFunctionResponses(event)[0]?.response?.['status'] && !event.partial)
      queue.sendRealtime({ data: 'AA==', mimeType: 'image/jpeg' });
    if (event.turnComplete) queue.close();
  }
  const call = { id: 'c', name: 'watch' };
  expect(answers()).toEqual([
    { ...call, response: { status: expect.any(String) as string }, willContinue: true, scheduling: 'SILENT' },
    { ...call, response: { output: 'AA==' }, willContinue: true },
    { ...call, response: {}, willContinue: false, scheduling: 'SILENT' },
    { id: 's', name: 'stop_streaming', response: { status: 'stopped watch' } },
  ]);
});

test('tool responses sent through the queue keep their own willContinue', async () => {
  const order = new LongRunningFunctionTool({
    name: 'order',
    description: '',
    nonBlocking: true,
    execute: () => undefined,
  });
  const { queue, stream, answers } = await setup(
    [calls(['order', 'c']), { heard: /packed/ }, { heard: /delivered/ }, END],
    { tools: [order] },
  );
  const given = [
    { id: 'c', name: 'order', response: { state: 'packed' }, willContinue: true, scheduling: 'SILENT' },
    { id: 'c', name: 'order', response: { state: 'delivered' }, willContinue: false },
  ];
  for await (const event of stream) {
    if (event.longRunningToolIds) for (const response of given) queue.sendToolResponse(response);
    if (event.turnComplete) queue.close();
  }
  expect(answers()).toEqual(given);
});

test('at most maxParallelToolCalls calls run at once, and a call cancelled while it waits does not run', async () => {
  const gate = new Gate();
  const began: string[] = [];
  const done = Promise.withResolvers<void>();
  const work = new FunctionTool({
    name: 'work',
    description: '',
    execute: async (_, { functionCallId }) => {
      began.push(functionCallId);
      if (began.length === 2) done.resolve();
      await gate.pass();
      return 'done';
    },
  });
  const heardAll = () => answers()?.length === 3;
  const { queue, stream, answers } = await setup(
    [
      calls(['work', 'a'], ['work', 'b']),
      calls(['work', 'c'], ['work', 'd']),
      { toolCallCancellation: { ids: ['c'] } },
      async () => {
        await done.promise;
        return ['Wait'];
      },
      { heard: heardAll },
      END,
    ],
    { tools: [work] },
    { maxParallelToolCalls: 2 },
  );
  for await (const event of stream) {
    if (event.partial) {
      expect(began).toEqual(['a', 'b']);
      gate.open();
    }
    if (event.turnComplete) queue.close();
  }
  expect(began).toEqual(['a', 'b', 'd']);
  expect(answers()?.map(({ id }) => id)).toEqual(['a', 'b', 'd']);
});

test('a call with an input stream does not count towards maxParallelToolCalls', async () => {
  const endless = new FunctionTool({
    name: 'endless',
    description: '',
    inputStream: true,
    execute: async function* (_, { inputStream }) {
      for await (const _request of inputStream ?? []) yield 'heard';
    },
  });
  const { model, queue, stream } = await setup(
    [calls(['endless', 'a'], ['plain', 'b']), { heard: /"result":"done"/ }, END],
    { tools: [endless, new FunctionTool({ name: 'plain', ...nothing })] },
    { maxParallelToolCalls: 1 },
  );
  await readTurns(stream, queue);
  model.assertConsumed();
});
