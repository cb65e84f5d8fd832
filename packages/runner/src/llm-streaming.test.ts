import { BaseLlm, type Event, getFunctionCalls, type LlmResponse, ModelError, type Part } from '@eventloom/core';
import type { LlmAgentConfig } from '@eventloom/llm-agent';
import type { ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { runToError, scenario } from './fixtures/scenario.ts';

/** Streaming runs of the agent `bot` with this model. */
function streaming(model: readonly ScriptedStep[] | BaseLlm, agent: Partial<LlmAgentConfig> = {}) {
  const runConfig = { streamingMode: 'sse' } as const;
  return scenario(model instanceof BaseLlm ? { agent: { model, ...agent }, runConfig } : { model, agent, runConfig });
}

function partsOf(events: readonly Event[]): (Part[] | undefined)[] {
  return events.map((event) => event.content?.parts);
}

/** A model that yields the given responses. */
class Yielding extends BaseLlm {
  readonly #responses: readonly (LlmResponse | Error)[];

  constructor(...responses: readonly (LlmResponse | Error)[]) {
    super({ model: 'yielding' });
    this.#responses = responses;
  }

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    for (const response of this.#responses) {
      if (response instanceof Error) throw response;
      yield response;
    }
  }
}

function chunk(...parts: Part[]): LlmResponse {
  return { content: { role: 'model', parts }, partial: true };
}

test('each chunk is an event with only new content, and the whole reply comes last and is stored', async () => {
  const { run, stored } = await streaming([
    { chunks: ['Hel', 'lo', '!'], response: { usageMetadata: { totalTokenCount: 3 } } },
  ]);
  const events = await run();
  expect(partsOf(events)).toEqual([[{ text: 'Hel' }], [{ text: 'lo' }], [{ text: '!' }], [{ text: 'Hello!' }]]);
  expect(events.map((event) => event.partial)).toEqual([true, true, true, undefined]);
  expect(events[3]).toMatchObject({ finishReason: 'STOP', usageMetadata: { totalTokenCount: 3 } });
  expect((await stored()).slice(1)).toEqual([events[3]]);
});

test('the chunks of a reply share its responseId, and every event has its own id', async () => {
  const tool = new FunctionTool({ name: 'f', description: '', execute: () => 1 });
  const { run } = await streaming(
    [{ chunks: ['a', 'b', [{ functionCall: { name: 'f', args: {} } }]] }, { chunks: ['c', 'd'] }],
    { tools: [tool] },
  );
  const events = await run();
  const first = events.slice(0, 4).map((event) => event.responseId);
  const second = events.slice(5).map((event) => event.responseId);
  expect(new Set(first).size).toBe(1);
  expect(new Set(second).size).toBe(1);
  expect(first[0]).toMatch(/^r-/);
  expect(first[0]).not.toBe(second[0]);
  expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
});

test('a responseId of the model is kept', async () => {
  const { run } = await streaming([{ chunks: [{ ...chunk({ text: 'a' }), responseId: 'given' }, 'b'] }]);
  expect((await run()).map((event) => event.responseId)).toEqual(['given', 'given', 'given']);
});

test('text of one kind is merged, thoughts are separate, and calls keep their order', async () => {
  const tool = new FunctionTool({ name: 'f', description: '', execute: ({ n }) => n });
  const call = (n: number): Part => ({ functionCall: { id: `c${n}`, name: 'f', args: { n } } });
  const { run } = await streaming(
    [
      {
        chunks: [
          [{ text: 'h', thought: true }],
          [{ text: 'm', thought: true }, { text: 'I ' }],
          'call',
          [call(1)],
          [call(2)],
        ],
      },
      'ok',
    ],
    { tools: [tool] },
  );
  const events = await run();
  expect(events[5]?.content?.parts).toEqual([{ text: 'hm', thought: true }, { text: 'I call' }, call(1), call(2)]);
  expect(events[6]?.content?.parts?.map((part) => part.functionResponse?.id)).toEqual(['c1', 'c2']);
});

test('without a whole reply from the model it is merged from the chunks', async () => {
  const usage = { usageMetadata: { totalTokenCount: 2 } };
  const { run, stored } = await streaming(
    new Yielding(chunk({ text: 'a' }), { ...chunk({ text: 'b' }), ...usage, finishReason: 'STOP' }),
  );
  const events = await run();
  expect(partsOf(events)).toEqual([[{ text: 'a' }], [{ text: 'b' }], [{ text: 'ab' }]]);
  expect(events[2]).toMatchObject({ finishReason: 'STOP', ...usage });
  expect((await stored()).slice(1)).toEqual([events[2]]);
});

test('an interrupted stream is an error event with the received text, runs no call, and fails the run', async () => {
  const lost = new ModelError('connection lost', { errorCode: 'UNAVAILABLE' });
  const tool = new FunctionTool({ name: 'f', description: '', execute: (): never => expect.unreachable() });
  const { start, stored } = await streaming(
    [{ chunks: ['Let me ', [{ functionCall: { name: 'f', args: {} } }], 'see'], error: lost }],
    { tools: [tool] },
  );
  const { events, error } = await runToError(start());
  expect(error).toBe(lost);
  expect(events).toHaveLength(4);
  expect(events[3]).toMatchObject({
    object: 'error',
    errorCode: 'UNAVAILABLE',
    errorMessage: 'connection lost; the reply ended before its call of "f" was complete; none of its calls was run',
    content: { role: 'model', parts: [{ text: 'Let me ' }, { text: 'see' }] },
    responseId: events[0]?.responseId,
  });
  expect((await stored()).slice(1)).toEqual([events[3]]);
});

test('a stream that fails before its first chunk is an error event without content', async () => {
  const { start } = await streaming(new Yielding(new ModelError('no', { errorCode: 'PERMISSION_DENIED' })));
  const { events, error } = await runToError(start());
  expect(error).toMatchObject({ message: 'no' });
  expect(events).toMatchObject([{ errorCode: 'PERMISSION_DENIED' }]);
  expect(events[0]).not.toHaveProperty('content');
});

test('an error of a model that is not a ModelError has the code MODEL_ERROR', async () => {
  const { start } = await streaming(new Yielding(chunk({ text: 'a' }), new TypeError('broken')));
  const { events, error } = await runToError(start());
  expect(error).toMatchObject({
    code: 'MODEL',
    errorCode: 'MODEL_ERROR',
    message: 'the model of agent "bot" failed: broken',
  });
  expect(events[1]).toMatchObject({ errorCode: 'MODEL_ERROR', content: { parts: [{ text: 'a' }] } });
});

test('an interrupted reply has one error event', async () => {
  const { run, stored } = await streaming([{ chunks: ['a'], error: new TypeError('broken') }]);
  await expect(run()).rejects.toThrow();
  expect((await stored()).map((event) => event.errorCode)).toEqual([undefined, 'MODEL_ERROR']);
});

test("time to first token and reasoning time are measured with the platform's clock", async () => {
  const parts: readonly (readonly [number, Part])[] = [
    [100, { text: '' }],
    [100, { text: 'hm', thought: true }],
    [300, { text: 'so', thought: true }],
    [50, { text: 'Yes' }],
    [500, { text: '.' }],
  ];
  class Slow extends BaseLlm {
    override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
      for (const [ms, part] of parts) {
        platform.advance(ms);
        yield chunk(part);
      }
    }
  }
  const { platform, run } = await streaming(new Slow({ model: 'slow' }));
  const events = await run();
  expect(events.at(-1)?.usageMetadata?.timingInfo).toEqual({ timeToFirstTokenMs: 200, reasoningDurationMs: 350 });
  // The first chunk with text or thought has the time to the first token as well.
  const first = { timingInfo: { timeToFirstTokenMs: 200 } };
  expect(events.slice(0, -1).map((event) => event.usageMetadata)).toEqual([
    undefined,
    first,
    undefined,
    undefined,
    undefined,
  ]);
});

test('each model call of a run has its own timing', async () => {
  const tool = new FunctionTool({ name: 'f', description: '', execute: () => platform.advance(5000) });
  const { platform, run } = await streaming(
    [{ chunks: [[{ functionCall: { name: 'f', args: {} } }]] }, { chunks: ['ok'] }],
    { tools: [tool] },
  );
  const events = await run();
  expect(events.at(-1)?.usageMetadata?.timingInfo).toEqual({ timeToFirstTokenMs: 0 });
});

test('a reply of 5,000 chunks is yielded whole', async () => {
  const chunks = Array.from({ length: 5000 }, (_, index) => `${index} `);
  const { run, stored } = await streaming([{ chunks }]);
  expect(await run()).toHaveLength(5001);
  expect(partsOf(await stored()).slice(1)).toEqual([[{ text: chunks.join('') }]]);
});

test('a call has the same id in its chunk and in the whole reply, and getFunctionCalls returns it once', async () => {
  const ran: unknown[] = [];
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: (_args, { functionCallId }) => ran.push(functionCallId),
  });
  const calls: readonly (readonly Part[])[] = [
    [{ text: 'Two calls.' }],
    [{ functionCall: { name: 'f', args: { n: 1 } } }],
    [
      { functionCall: { name: 'f', args: { n: 2 }, id: 'c1' } },
      { functionCall: { name: 'f', args: { n: 3 }, id: 'c1' } },
    ],
  ];
  const { run } = await scenario({
    model: [{ chunks: calls }, { chunks: [calls[2] ?? []] }, 'done'],
    agent: { tools: [tool] },
  });
  const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
  const idsOf = (isPartial: boolean): unknown[] =>
    events
      .filter(({ partial = false }) => partial === isPartial)
      .flatMap(({ content }) => content?.parts ?? [])
      .flatMap(({ functionCall }) => functionCall?.id ?? []);
  expect(idsOf(true)).toEqual([expect.stringMatching(/^adk-/), 'c1', 'adk-c1-2', 'adk-c1-3', 'adk-c1-4']);
  expect(idsOf(false)).toEqual(idsOf(true));
  expect(events.flatMap(getFunctionCalls).map(({ id }) => id)).toEqual(idsOf(true));
  expect(ran).toEqual(idsOf(true));
});

test.each(['sse', 'none'] as const)(
  'a reply that the model truncated is an error event with its text, with streamingMode %s',
  async (streamingMode) => {
    for (const finishReason of ['SAFETY', 'MAX_TOKENS']) {
      const { run } = await scenario({ model: [{ chunks: ['The', ' sky'], response: { finishReason } }] });
      const events = await run('hi', { runConfig: { streamingMode } });
      expect(events.at(-1)).toMatchObject({
        object: 'error',
        finishReason,
        errorCode: finishReason,
        error: { type: finishReason, message: `the model stopped with ${finishReason}` },
        content: { parts: [{ text: 'The sky' }] },
      });
    }
  },
);

test('no call of a reply that ends inside a call runs, and the client and the model get the error', async () => {
  const ran: unknown[] = [];
  const tool = new FunctionTool({ name: 'f', description: '', execute: () => ran.push(1) });
  const calls: Part[] = [
    { functionCall: { name: 'f', args: {} } },
    { functionCall: { name: 'pay', willContinue: true } },
  ];
  const { run, model } = await scenario({
    model: [{ chunks: [[{ text: 'I pay.' }], calls] }, 'Sorry.'],
    agent: { tools: [tool] },
  });
  const events = await run('pay', { runConfig: { streamingMode: 'sse' } });
  const message = 'the reply ended before its call of "pay" was complete; none of its calls was run';
  expect(events.at(-1)).toMatchObject({
    object: 'error',
    errorCode: 'INCOMPLETE_CALL',
    error: { type: 'INCOMPLETE_CALL', message },
    content: { parts: [{ text: 'I pay.' }] },
  });
  expect(ran).toEqual([]);
  await run('and?');
  expect(model.requests[1]?.request.contents).toEqual([
    { role: 'user', parts: [{ text: 'pay' }] },
    { role: 'model', parts: [{ text: 'I pay.' }] },
    { role: 'user', parts: [{ text: `For context: ${message}.` }] },
    { role: 'user', parts: [{ text: 'and?' }] },
  ]);
});
