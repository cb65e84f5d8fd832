import {
  BaseAgent,
  BasePlugin,
  type Event,
  getFunctionResponses,
  type InvocationContext,
  type RunConfig,
  type ToolContext,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FinalToolResult, FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
type Execute = (args: Record<string, unknown>, context: ToolContext) => unknown;

async function setUp(execute: Execute, steps: readonly ScriptedStep[] = [ONE, 'ok'], plugins: BasePlugin[] = []) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const tool = new FunctionTool({ name: 'f', description: '', execute });
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel(steps), tools: [tool] });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform, plugins });
  const start = (runConfig: RunConfig = { streamingMode: 'sse' }, abortSignal?: AbortSignal) =>
    runner.runAsync({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] }, runConfig, abortSignal });
  const run = async (runConfig?: RunConfig): Promise<Event[]> => {
    const events: Event[] = [];
    for await (const event of start(runConfig)) events.push(event);
    return events;
  };
  const stored = async (): Promise<readonly Event[]> => (await sessionService.getSession(KEY))?.events ?? [];
  return { runner, sessionService, start, run, stored };
}

const ONE: ScriptedStep = { calls: [{ id: 'c1', name: 'f', args: {} }] };
const chunksOf = (events: readonly Event[]): unknown[] =>
  events
    .filter(({ partial, object }) => partial === true && object === 'tool.response')
    .flatMap(getFunctionResponses)
    .map(({ response }) => response?.['output']);
const resultOf = (events: readonly Event[]): unknown =>
  getFunctionResponses(
    events.find((event) => event.partial !== true && getFunctionResponses(event).length > 0) as Event,
  )[0]?.response;

test('each chunk of a generator is a partial event of the agent at once, and the result is the text of all', async () => {
  const { run, stored } = await setUp(async function* () {
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

async function* later(...chunks: unknown[]): AsyncGenerator<unknown> {
  for (const chunk of chunks) yield await chunk;
}
function* now(...chunks: unknown[]): Generator<unknown> {
  yield* chunks;
}

test.each([
  ['an async generator', () => later('a', 'b'), ['a', 'b'], { result: 'ab' }],
  ['a generator', () => now('a', 'b'), ['a', 'b'], { result: 'ab' }],
  ['a generator of promises', () => now(Promise.resolve('a'), 'b'), ['a', 'b'], { result: 'ab' }],
  ['a promise of a generator', async () => later('a'), ['a'], { result: 'a' }],
  ['chunks that are not all texts', () => later('a', { n: 1 }), ['a', { n: 1 }], { result: ['a', { n: 1 }] }],
  ['no chunks', () => later(), [], { result: null }],
  ['a final result at the end', () => later('a', new FinalToolResult({ n: 2 })), ['a'], { n: 2 }],
  ['a final result of undefined', () => later('a', new FinalToolResult(undefined)), ['a'], { result: null }],
  ['a final result that was not the last', () => later(new FinalToolResult('x'), 'a'), ['a'], { result: 'a' }],
  ['a generator that returns', () => returning(), ['a'], { returned: true }],
  ['an object that it goes on writing to', () => counting(), [{ n: 1 }, { n: 2 }], { result: [{ n: 1 }, { n: 2 }] }],
  ['a list, which is no generator', () => ['a', 'b'], [], { result: ['a', 'b'] }],
])('%s', async (_, execute, chunks, result) => {
  const { run } = await setUp(execute);
  const events = await run();
  expect(chunksOf(events)).toEqual(chunks);
  expect(resultOf(events)).toEqual(result);
});

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

test('what a generator throws is told to the model with what came before', async () => {
  const { run } = await setUp(broken);
  expect(resultOf(await run())).toEqual({ error: 'connection lost', output: 'row 1\nrow 2\n' });
});

test('callbacks see what a generator threw, and may answer instead', async () => {
  class Saving extends BasePlugin {
    override onToolErrorCallback({ error, toolContext }: { error: Error; toolContext: ToolContext }) {
      return { caught: error.constructor.name, saved: toolContext.partialOutput };
    }
  }
  const { run } = await setUp(broken, [ONE, 'ok'], [new Saving('saving')]);
  expect(resultOf(await run())).toEqual({ caught: 'RangeError', saved: 'row 1\nrow 2\n' });
});

test('a chunk that is not JSON is an error, and the generator is closed', async () => {
  let closed = false;
  const { run } = await setUp(async function* () {
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
  expect(resultOf(events)).toMatchObject({ error: expect.stringContaining('is a Map'), output: 'a' });
});

test('without streaming the caller gets no chunks, and the tool works', async () => {
  const { run } = await setUp(() => later('a', 'b'));
  const events = await run({});
  expect(events.some(({ partial }) => partial === true)).toBe(false);
  expect(resultOf(events)).toEqual({ result: 'ab' });
});

test('a tool does not go on before its chunk was taken', async () => {
  const made: string[] = [];
  const { start } = await setUp(async function* () {
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

test('chunks of tools that run at the same time come as they are made', async () => {
  const gates = [new Gate(), new Gate()];
  const { run } = await setUp(
    async function* ({ n }) {
      yield `${String(n)}a`;
      if (n === 0) await gates[0]?.pass();
      else gates[0]?.open();
      yield `${String(n)}b`;
    },
    [{ calls: [0, 1].map((n) => ({ id: `c${n}`, name: 'f', args: { n } })) }, 'ok'],
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

test('plugins see each chunk, and may change what is streamed', async () => {
  class Masking extends BasePlugin {
    override onEventCallback({ event }: { event: Event }): Event | undefined {
      if (event.partial !== true || event.object !== 'tool.response') return undefined;
      return {
        ...event,
        content: { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'f', response: { output: '*' } } }] },
      };
    }
  }
  const { run } = await setUp(() => later('a', 'b'), [ONE, 'ok'], [new Masking('masking')]);
  const events = await run();
  expect(chunksOf(events)).toEqual(['*', '*']);
  expect(resultOf(events)).toEqual({ result: 'ab' });
});

test.each([
  ['aborted', true],
  ['left', false],
])('when the run is %s the finally blocks of its generators run', async (_, aborts) => {
  const closed = new Gate();
  const { start, stored } = await setUp(async function* () {
    try {
      for (;;) yield 'again';
    } finally {
      await closed.pass();
    }
  });
  closed.open();
  const abort = new AbortController();
  const reading = (async () => {
    for await (const event of start({ streamingMode: 'sse' }, abort.signal)) {
      if (chunksOf([event]).length === 0) continue;
      if (!aborts) break;
      abort.abort();
    }
  })();
  if (aborts) await expect(reading).rejects.toThrow('aborted');
  else await reading;
  await closed.reached;
  expect((await stored()).flatMap(getFunctionResponses)).toEqual([]);
});

/** Reads its sub-agent until the first chunk of a tool. */
class Impatient extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    for (const agent of this.subAgents) {
      for await (const event of agent.runAsync(context)) {
        yield event;
        if (chunksOf([event]).length > 0) break;
      }
    }
    yield context.createEvent({ content: { role: 'model', parts: [{ text: 'Enough.' }] } });
  }
}

test('a generator whose agent is left by another one is closed, and counts as cut off', async () => {
  let closed = false;
  const { runner, sessionService } = await setUp(() => '');
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: async function* () {
      try {
        for (;;) yield 'again';
      } finally {
        closed = true;
      }
    },
  });
  const child = new LlmAgent({ name: 'child', model: new ScriptedModel([ONE]), tools: [tool] });
  const agent = new Impatient({ name: 'impatient', subAgents: [child] });
  const outer = new Runner({ appName: 'app', agent, sessionService, platform: runner.platform });
  const events = await outer.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });
  expect(closed).toBe(true);
  expect(events.at(-1)?.content?.parts).toEqual([{ text: 'Enough.' }]);
  const { invocationId = '' } = events[0] ?? {};
  expect(await sessionService.listToolCalls({ ...KEY, invocationId })).toMatchObject([{ status: 'started' }]);
});

test('a generator that waits when the run is aborted is closed when its wait is over', async () => {
  const closed = new Gate();
  const waiting = new Gate();
  const abort = new AbortController();
  const { start } = await setUp(async function* () {
    try {
      await waiting.pass();
      yield 'late';
      yield 'later';
    } finally {
      await closed.pass();
    }
  });
  const reading = (async () => {
    for await (const _ of start({ streamingMode: 'sse' }, abort.signal));
  })();
  await waiting.reached;
  abort.abort();
  await expect(reading).rejects.toThrow('aborted');
  waiting.open();
  await closed.reached;
});

// Progress.

test('a tool tells how it gets on: streamed at once, stored nowhere', async () => {
  const { run, stored } = await setUp(async (_args, context) => {
    expect(await context.emit({ done: 1 })).toBe(true);
    void context.emit('unawaited');
    return 'all';
  });
  const events = await run();
  expect(chunksOf(events)).toEqual([{ done: 1 }, 'unawaited']);
  expect(resultOf(events)).toEqual({ result: 'all' });
  expect(JSON.stringify(await stored())).not.toContain('unawaited');
});

test.each([
  ['a function', () => 1, 'is a function'],
  ['undefined', undefined, 'is undefined'],
  ['a Map within', { at: new Map() }, 'at at is a Map'],
])('progress that is %s throws at the call', async (_, progress, fault) => {
  let thrown: unknown;
  const { run } = await setUp((_args, context) => {
    try {
      void context.emit(progress);
    } catch (error) {
      thrown = error;
    }
  });
  await run();
  expect(thrown).toMatchObject({ code: 'INVALID_EVENT', message: expect.stringContaining(fault) });
});

test('a tool that tells more than anybody takes is stopped', async () => {
  const { run } = await setUp((_args, context) => {
    for (let n = 0; n < 2000; n++) void context.emit(n);
  });
  const events = await run();
  expect(chunksOf(events)).toHaveLength(1000);
  expect(resultOf(events)).toEqual({ error: expect.stringContaining('await what emit returns') });
});

test('what is told after the tool ended is told to nobody', async () => {
  let late: (() => Promise<boolean>) | undefined;
  const { run } = await setUp((_args, context) => {
    late = () => context.emit('late');
  });
  expect(chunksOf(await run())).toEqual([]);
  expect(await late?.()).toBe(false);
});

test('a long-running generator without chunks has no answer yet', async () => {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const tool = new LongRunningFunctionTool({ name: 'f', description: '', execute: () => later() });
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel([ONE]), tools: [tool] });
  const runner = new Runner({ appName: 'app', agent, sessionService });
  const events = await runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });
  expect(events.flatMap(getFunctionResponses)).toEqual([]);
});
