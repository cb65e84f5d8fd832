import { BasePlugin, type Event, getFunctionResponses, type ToolContext } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { FinalToolResult, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { scenario } from './fixtures/scenario.ts';
import { chunksOf, later, ONE, resultOf, streaming } from './fixtures/streaming-run.ts';

function* now(...chunks: unknown[]): Generator<unknown> {
  yield* chunks;
}

async function* returning(): AsyncGenerator<unknown, unknown> {
  yield 'a';
  return { returned: true };
}

function* counting(): Generator<unknown> {
  const count = { n: 0 };
  for (count.n = 1; count.n <= 2; count.n++) yield count;
}

const broken = async function* (): AsyncGenerator<unknown> {
  yield 'row 1\n';
  yield 'row 2\n';
  throw new RangeError('connection lost');
};

test('each chunk of a generator tool is a partial event, and the result is their joined text', async () => {
  const { run, stored } = await streaming(async function* () {
    yield 'a';
    yield 'b';
  });
  const events = await run();
  const chunk = events.find(({ object }) => object === 'tool.response');
  expect(chunk).toMatchObject({ author: 'bot', partial: true, object: 'tool.response' });
  expect(chunk?.content).toEqual({
    role: 'user',
    parts: [{ functionResponse: { id: 'c1', name: 'f', response: { output: 'a' } } }],
  });
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  expect(chunksOf(events)).toEqual(['a', 'b']);
  expect(resultOf(events)).toEqual({ result: 'ab' });
  expect((await stored()).some(({ partial }) => partial === true)).toBe(false);
  expect(JSON.stringify(await stored())).not.toContain('output');
});

test.each([
  ['an async generator', () => later('a', 'b'), ['a', 'b'], { result: 'ab' }],
  ['a generator', () => now('a', 'b'), ['a', 'b'], { result: 'ab' }],
  ['a generator of promises', () => now(Promise.resolve('a'), 'b'), ['a', 'b'], { result: 'ab' }],
  ['a promise of a generator', async () => later('a'), ['a'], { result: 'a' }],
  ['chunks that are not all texts', () => later('a', { n: 1 }), ['a', { n: 1 }], { results: ['a', { n: 1 }] }],
  ['no chunks', () => later(), [], { result: null }],
  ['a final result at the end', () => later('a', new FinalToolResult({ n: 2 })), ['a'], { n: 2 }],
  ['a final result of undefined', () => later('a', new FinalToolResult(undefined)), ['a'], { result: null }],
  ['a final result that was not the last', () => later(new FinalToolResult('x'), 'a'), ['a'], { result: 'a' }],
  ['a generator that returns', () => returning(), ['a'], { returned: true }],
  ['an object that the tool changes later', () => counting(), [{ n: 1 }, { n: 2 }], { results: [{ n: 1 }, { n: 2 }] }],
  ['a list, which is not a generator', () => ['a', 'b'], [], { results: ['a', 'b'] }],
])('%s', async (_, execute, chunks, result) => {
  const { run } = await streaming(execute);
  const events = await run();
  expect(chunksOf(events)).toEqual(chunks);
  expect(resultOf(events)).toEqual(result);
});

test('an error of a generator goes to the model with its earlier chunks', async () => {
  const { run } = await streaming(broken);
  expect(resultOf(await run())).toEqual({ error: 'connection lost', output: 'row 1\nrow 2\n' });
});

test('onToolErrorCallback runs for a generator that throws, and may answer', async () => {
  class Saving extends BasePlugin {
    override onToolErrorCallback({ error, toolContext }: { error: Error; toolContext: ToolContext }) {
      return { caught: error.constructor.name, saved: toolContext.partialOutput };
    }
  }
  const { run } = await streaming(broken, { plugins: [new Saving('saving')] });
  expect(resultOf(await run())).toEqual({ caught: 'RangeError', saved: 'row 1\nrow 2\n' });
});

test('a chunk that is not JSON is an error, and the generator is closed', async () => {
  let closed = false;
  const { run } = await streaming(async function* () {
    try {
      yield 'a';
      yield new Map();
    } finally {
      closed = true;
    }
  });
  const events = await run();
  expect(closed).toBe(true);
  expect(chunksOf(events)).toEqual(['a']);
  expect(resultOf(events)).toMatchObject({ error: expect.stringContaining('class Map'), output: 'a' });
});

test('without streaming the reader gets no chunks, and the tool runs', async () => {
  const { run } = await streaming(() => later('a', 'b'));
  const events = await run('hi', { runConfig: { streamingMode: 'none' } });
  expect(events.some(({ partial }) => partial === true)).toBe(false);
  expect(resultOf(events)).toEqual({ result: 'ab' });
});

test('a tool continues after its chunk was read', async () => {
  const made: string[] = [];
  const { start } = await streaming(async function* () {
    for (const chunk of ['a', 'b', 'c']) {
      made.push(chunk);
      yield chunk;
    }
  });
  for await (const event of start()) {
    const chunk = chunksOf([event])[0];
    if (chunk === undefined) continue;
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    expect(made.at(-1)).toBe(chunk);
  }
  expect(made).toEqual(['a', 'b', 'c']);
});

test('chunks of concurrent tools are yielded as they come', async () => {
  const gates = [new Gate(), new Gate()];
  const { run } = await streaming(
    async function* ({ n }) {
      yield `${String(n)}a`;
      if (n === 0) await gates[0]?.pass();
      else gates[0]?.open();
      yield `${String(n)}b`;
    },
    { model: [{ calls: [0, 1].map((n) => ({ id: `c${n}`, name: 'f', args: { n } })) }, 'ok'] },
  );
  const events = await run();
  expect(chunksOf(events)).toHaveLength(4);
  expect(chunksOf(events).indexOf('1a')).toBeLessThan(chunksOf(events).indexOf('0b'));
  const responses = events.filter(({ partial }) => partial !== true).flatMap(getFunctionResponses);
  expect(responses.map(({ id, response }) => [id, response])).toEqual([
    ['c0', { result: '0a0b' }],
    ['c1', { result: '1a1b' }],
  ]);
});

test('plugins get each chunk and may change it', async () => {
  class Masking extends BasePlugin {
    override onEventCallback({ event }: { event: Event }): Event | undefined {
      if (event.partial !== true || event.object !== 'tool.response') return undefined;
      return {
        ...event,
        content: { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'f', response: { output: '*' } } }] },
      };
    }
  }
  const { run } = await streaming(() => later('a', 'b'), { plugins: [new Masking('masking')] });
  const events = await run();
  expect(chunksOf(events)).toEqual(['*', '*']);
  expect(resultOf(events)).toEqual({ result: 'ab' });
});

test('a long-running generator without chunks has no response yet', async () => {
  const tool = new LongRunningFunctionTool({ name: 'f', description: '', execute: () => later() });
  const { run } = await scenario({ model: [ONE], agent: { tools: [tool] } });
  const events = await run();
  expect(events.flatMap(getFunctionResponses)).toEqual([]);
});
