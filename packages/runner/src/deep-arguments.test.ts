import {
  BaseLlm,
  type Event,
  type FunctionCall,
  getFunctionCalls,
  getFunctionResponses,
  type LlmResponse,
  ShuttingDownError,
} from '@eventloom/core';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { scenario, textOf } from './fixtures/scenario.ts';

/** Arguments that nest this many levels. */
function nested(levels: number): Record<string, unknown> {
  let value: unknown = 1;
  for (let level = 1; level < levels; level++) value = [value];
  return { value };
}

const ERROR =
  'f was not called: the arguments were nested deeper than 195 levels; call it again with arguments that are nested less';
const LEFT_OUT = { 'eventloom:leftOut': 'the arguments were nested deeper than 195 levels' };

function countingTool(calls: unknown[], options: object = {}): FunctionTool {
  return new FunctionTool({ name: 'f', description: '', execute: (args) => ({ n: calls.push(args) }), ...options });
}

const responsesOf = (events: readonly Event[]): unknown[] =>
  events.flatMap((event) => getFunctionResponses(event).map(({ response }) => response));
const argsOf = (events: readonly Event[]): unknown[] =>
  events.flatMap((event) => getFunctionCalls(event).map(({ args }) => args));

describe.each(['none', 'sse'] as const)('with streamingMode %s, arguments of a call', (streamingMode) => {
  const runConfig = { streamingMode };

  test('may nest 195 levels', async () => {
    const calls: unknown[] = [];
    const { run } = await scenario({
      model: [{ calls: [{ name: 'f', args: nested(195) }] }, 'done'],
      agent: { tools: [countingTool(calls)] },
    });
    const events = await run('hi', { runConfig });
    expect(responsesOf(events)).toEqual([{ n: 1 }]);
    expect(calls).toEqual([nested(195)]);
  });

  test.each([196, 5000, 100_000])(
    'nested %i levels deep are answered to the model, and the run continues',
    async (levels) => {
      const calls: unknown[] = [];
      const { run, stored, model } = await scenario({
        model: [
          {
            calls: [
              { name: 'f', args: nested(levels) },
              { name: 'f', args: { fine: true } },
            ],
          },
          { calls: [{ name: 'f', args: { less: true } }] },
          'done',
        ],
        agent: { tools: [countingTool(calls)] },
      });
      const events = await run('hi', { runConfig });
      expect(events.at(-1)).toMatchObject({ content: { parts: [{ text: 'done' }] } });
      const kept = await stored();
      expect(responsesOf(kept)).toEqual([{ error: ERROR }, { n: 1 }, { n: 2 }]);
      expect(argsOf(kept)).toEqual([LEFT_OUT, { fine: true }, { less: true }]);
      expect(calls).toEqual([{ fine: true }, { less: true }]);
      expect(model.requests[1]?.request.contents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual({
        error: ERROR,
      });
    },
  );

  test('assembled from pieces are also answered to the model', async () => {
    const piece: FunctionCall = { name: 'f', partialArgs: [{ jsonPath: `$.a${'[0]'.repeat(3000)}`, numberValue: 1 }] };
    const calls: unknown[] = [];
    const { run } = await scenario({
      model: [{ chunks: [[{ functionCall: piece }]] }, 'done'],
      agent: { tools: [countingTool(calls)] },
    });
    const events = await run('hi', { runConfig });
    expect([responsesOf(events), calls]).toEqual([[{ error: ERROR }], []]);
    expect(textOf(events.at(-1))).toBe('done');
  });
});

test('the model gets an error for too deeply nested arguments that came in chunks only', async () => {
  const pieces: FunctionCall = { name: 'f', partialArgs: [{ jsonPath: `$.a${'[0]'.repeat(3000)}`, numberValue: 1 }] };
  const replies: LlmResponse[] = [
    { content: { role: 'model', parts: [{ functionCall: pieces }] } },
    { content: { role: 'model', parts: [{ text: 'done' }] } },
  ];
  class ChunkModel extends BaseLlm {
    async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
      const reply = replies.shift();
      if (reply) yield { ...reply, partial: true };
      yield { partial: true, finishReason: 'STOP' };
    }
  }
  const { run } = await scenario({
    agent: { model: new ChunkModel({ model: 'chunks' }), tools: [countingTool([])] },
    runConfig: { streamingMode: 'sse' },
  });
  expect(responsesOf(await run())).toEqual([{ error: ERROR }]);
});

test('too deeply nested arguments never run a call that needs confirmation, a client call or a long-running call', async () => {
  const calls: unknown[] = [];
  const asking = countingTool(calls, { requireConfirmation: true });
  const slow = new LongRunningFunctionTool({ name: 'slow', description: '', execute: () => void calls.push('slow') });
  const { run, stored } = await scenario({
    model: [
      {
        calls: [
          { name: 'f', args: nested(200) },
          { name: 'slow', args: nested(200) },
        ],
      },
      'done',
    ],
    agent: { tools: [asking, slow] },
    resumable: true,
  });
  expect(textOf((await run()).find((event) => textOf(event) === 'done'))).toBe('done');
  expect(responsesOf(await stored())).toEqual([{ error: ERROR }, { error: ERROR.replace('f was', 'slow was') }]);
  expect(calls).toEqual([]);
});

test('a resumed run does not run a call with too deeply nested arguments that got no response', async () => {
  const calls: unknown[] = [];
  const tools = [countingTool(calls)];
  const first = await scenario({
    model: [{ calls: [{ name: 'f', args: nested(200) }] }, 'never'],
    agent: { tools },
    resumable: true,
  });
  const abort = new AbortController();
  const stream = first.start('hi', { abortSignal: abort.signal });
  const { value } = await stream.next();
  expect(argsOf([value as Event])).toEqual([LEFT_OUT]);
  abort.abort(new ShuttingDownError('the process ends'));
  await expect(stream.next()).rejects.toThrow('aborted');
  const { run, stored } = first.restart({ model: ['done'], agent: { tools }, resumable: true });
  const { invocationId } = stream;
  await run('', { newMessage: undefined, invocationId });
  expect(responsesOf(await stored())).toEqual([{ error: ERROR }]);
  expect(calls).toEqual([]);
});
