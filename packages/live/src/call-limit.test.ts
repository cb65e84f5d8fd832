import { getFunctionResponses } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, END } from './fixtures/live-messages.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

const ONE_AT_ONCE = { runConfig: { maxParallelToolCalls: 1 } };

/** A tool that holds its slot until the gate opens or its call is taken back. */
function slow(gate: Gate): FunctionTool {
  return new FunctionTool({ name: 'slow', description: '', execute: (_, { abortSignal }) => gate.pass(abortSignal) });
}

test('a tool call that the model cancels frees its slot', async () => {
  const gate = new Gate();
  const plain = new FunctionTool({ name: 'plain', description: '', execute: () => 'done' });
  const { model, queue, stream } = await liveScenario({
    model: [
      [
        call('slow', 'a'),
        call('plain', 'b'),
        async () => {
          await gate.reached;
          return [{ toolCallCancellation: { ids: ['a'] } }];
        },
        { heard: /done/ },
        END,
      ],
    ],
    agent: { tools: [slow(gate), plain] },
    ...ONE_AT_ONCE,
  });
  const events = await readTurns(stream, queue);
  expect(events.flatMap(getFunctionResponses).map(({ id }) => id)).toContain('b');
  model.assertConsumed();
});

test('the model can stop a tool with an input stream while all slots are taken', async () => {
  const gate = new Gate();
  const listen = new FunctionTool({
    name: 'listen',
    description: '',
    inputStream: true,
    execute: async function* (_, { inputStream }) {
      for await (const _request of inputStream ?? []) yield 'heard';
    },
  });
  const { model, queue, stream } = await liveScenario({
    model: [
      [
        call('listen', 'a'),
        call('slow', 'b'),
        async () => {
          await gate.reached;
          return [call('stop_streaming', 'c', { function_name: 'listen' })];
        },
        { heard: /stop_streaming/ },
        END,
      ],
    ],
    agent: { tools: [listen, slow(gate)] },
    ...ONE_AT_ONCE,
  });
  await readTurns(stream, queue);
  model.assertConsumed();
});
