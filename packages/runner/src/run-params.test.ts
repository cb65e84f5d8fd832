import {
  BaseAgent,
  BaseLlm,
  BasePlugin,
  ConfigurationError,
  type Event,
  InvalidRequestError,
  type InvocationContext,
  type LlmResponse,
} from '@eventloom/core';
import { type ScriptedStep } from '@eventloom/testing';
import { expect, test } from 'vitest';
import type { RunAsyncParams } from './run-request.ts';
import { saying, scenario } from './fixtures/scenario.ts';

test.each([
  ['a parameter of a later version', { liveQueue: {} }, 'runAsync: has no option "liveQueue"'],
  ['an invocation id that is not text', { invocationId: 1 }, 'runAsync: invocationId: expected a string'],
  ['a misspelt parameter', { statedelta: {} }, 'runAsync: has no option "statedelta"'],
  [
    'the messages of another library',
    { messages: [] },
    'runAsync: has no option "messages"; write newMessage: \'hello\'',
  ],
  ['the name of another app', { appName: 'other' }, 'the runner has the appName "app"'],
  [
    'a replay that is not a flag',
    { replay: 'yes' },
    'runAsync: replay: expected true or false, got a string; write replay: true',
  ],
  ['an unknown way', { ifKnown: 'folow' }, `runAsync: ifKnown: expected one of follow, resume, reject, got "folow"`],
  [
    'a state delta that is a text',
    { stateDelta: 'x' },
    'stateDelta: expected an object, got a string; write stateDelta: {',
  ],
  ['a state delta that is a list', { stateDelta: [1] }, 'stateDelta: expected an object'],
  [
    'metadata that is not JSON',
    { customMetadata: { at: new Map() } },
    'customMetadata.at: is an object of the class Map',
  ],
])('%s is refused and nothing is written', async (_, params, message) => {
  const { runner, stored } = await scenario();
  const run = runner.run({ ...saying(), ...params } as RunAsyncParams);
  await expect(run).rejects.toThrow(ConfigurationError);
  await expect(runner.run({ ...saying(), ...params } as RunAsyncParams)).rejects.toThrow(message);
  expect(await stored()).toEqual([]);
});

test('ifKnown without a requestId is refused and nothing is written', async () => {
  const { run, stored } = await scenario();
  for (const ifKnown of ['follow', 'resume', 'reject'] as const) {
    await expect(run('hi', { ifKnown })).rejects.toThrow(InvalidRequestError);
    await expect(run('hi', { ifKnown })).rejects.toThrow('ifKnown: needs a requestId');
  }
  expect(await stored()).toEqual([]);
});

test('customMetadata of a run overrides that of its config on every event, and is copied', async () => {
  const { runner, stored } = await scenario({ model: ['hello'] });
  const customMetadata = { deep: { a: 1 } };
  await runner.run(saying('hi', { customMetadata, runConfig: { customMetadata: { deep: 0, other: true } } }));
  customMetadata.deep.a = 2;
  for (const event of await stored()) expect(event.customMetadata).toEqual({ deep: { a: 1 }, other: true });
});

test('run callbacks get the root agent', async () => {
  const seen: string[] = [];
  class Watching extends BasePlugin {
    override onUserMessageCallback({ invocationContext }: { invocationContext: InvocationContext }): undefined {
      seen.push(invocationContext.agent.name);
    }
    override beforeRunCallback({ invocationContext }: { invocationContext: InvocationContext }): undefined {
      seen.push(invocationContext.agent.name);
    }
  }
  const { runner } = await scenario({ model: ['hello'], plugins: [new Watching('watching')] });
  await runner.run(saying());
  expect(seen).toEqual(['bot', 'bot']);
});

test('a callback that replaces replies replaces chunks and the whole separately', async () => {
  const afterModelCallback = () => ({ content: { role: 'model', parts: [{ text: 'X' }] } });
  const { runner } = await scenario({ model: [{ chunks: ['a', 'b'] }], agent: { afterModelCallback } });
  const events = await runner.run(saying('hi', { runConfig: { streamingMode: 'sse' } }));
  expect(events.map(({ partial, content }) => [partial ?? false, content?.parts?.[0]?.text])).toEqual([
    [true, 'X'],
    [true, 'X'],
    [false, 'X'],
  ]);
});

test('a plugin cannot store a chunk, nor remove an author', async () => {
  class Rewriting extends BasePlugin {
    override onEventCallback({ event }: { event: Event }) {
      const { partial: _, ...rest } = event;
      return { ...rest, author: '' };
    }
  }
  const { runner, stored } = await scenario({ model: [{ chunks: ['a', 'b'] }], plugins: [new Rewriting('rewriting')] });
  const events = await runner.run(saying('hi', { runConfig: { streamingMode: 'sse' } }));
  expect(events.map(({ partial, author }) => [partial ?? false, author])).toEqual([
    [true, 'bot'],
    [true, 'bot'],
    [false, 'bot'],
  ]);
  expect(await stored()).toHaveLength(2);
});

test('two calls of one reply with the same id are distinguished', async () => {
  const call = (n: number) => ({ id: 'same', name: 'unknown', args: { n } });
  const { runner } = await scenario({ model: [{ calls: [call(1), call(2)] }, 'done'] });
  const [calls, responses] = await runner.run(saying());
  const ids = calls?.content?.parts?.map((part) => part.functionCall?.id);
  expect(ids?.[0]).toBe('same');
  expect(ids?.[1]).toMatch(/^adk-/);
  expect(responses?.content?.parts?.map((part) => part.functionResponse?.id)).toEqual(ids);
});

test('a model that writes to its request cannot change the agent', async () => {
  const generateContentConfig = { labels: { a: '1' } };
  const steps: ScriptedStep[] = [0, 1].map(() => (request) => {
    const labels = request.config.labels ?? {};
    const before = labels['a'];
    labels['a'] = '9';
    return `label ${before}`;
  });
  const { runner } = await scenario({ model: steps, agent: { generateContentConfig } });
  const texts = [...(await runner.run(saying())), ...(await runner.run(saying()))].map(
    (event) => event.content?.parts?.[0]?.text,
  );
  expect(texts).toEqual(['label 1', 'label 1']);
});

test('writing to a stored event throws, and the history is unchanged', async () => {
  const { runner, stored } = await scenario({ model: ['hello', 'again'] });
  const [answer] = await runner.run(saying());
  expect(() => Object.assign(answer?.content?.parts?.[0] ?? {}, { text: 'forged' })).toThrow(TypeError);
  await runner.run(saying());
  expect((await stored()).map((event) => event.content?.parts?.[0]?.text)).toEqual(['hi', 'hello', 'hi', 'again']);
});

test('models and callbacks may change and reuse the objects that they gave to the run', async () => {
  const response = { content: { role: 'model', parts: [{ text: '0' }] } };
  const texts: unknown[] = [];
  const afterModelCallback = ({ response: given }: { response: LlmResponse }): undefined => {
    const part = given.content?.parts?.[0];
    if (part) part.text = `${part.text}!`;
  };
  const { runner, stored } = await scenario({ model: [{ response }, { response }], agent: { afterModelCallback } });
  for (const run of [1, 2]) {
    for (const event of await runner.run(saying())) texts.push([run, event.content?.parts?.[0]?.text]);
  }
  expect(texts).toEqual([
    [1, '0!'],
    [2, '0!!'],
  ]);
  expect((await stored())[1]?.content?.parts).toEqual([{ text: '0!' }]);
});

test('writing to a chunk does not change the whole event', async () => {
  const chunks = ['a', 'b'].map((text) => ({ content: { role: 'model', parts: [{ text }] }, partial: true }));
  class ChunksOnly extends BaseLlm {
    override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
      yield* chunks;
    }
  }
  const { runner, stored } = await scenario({ agent: { model: new ChunksOnly({ model: 'chunks' }) } });
  for await (const event of runner.runAsync(saying('hi', { runConfig: { streamingMode: 'sse' } }))) {
    if (!event.partial) continue;
    Object.assign(event.content?.parts?.[0] ?? {}, { text: 'forged' });
    event.actions.stateDelta['seen'] = true;
  }
  expect((await stored()).at(-1)?.content?.parts).toEqual([{ text: 'ab' }]);
});

test('an agent may reuse its own objects after yielding them', async () => {
  class Counting extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const content = { role: 'model', parts: [{ text: '1' }] };
      const count = { value: 1 };
      yield context.createEvent({ content, actions: { stateDelta: { count } } });
      content.parts[0] = { text: '2' };
      count.value = 2;
      yield context.createEvent({ content, actions: { stateDelta: { count } } });
    }
  }
  const { runner, stored } = await scenario({ agent: new Counting({ name: 'counting' }) });
  await runner.run(saying());
  const [, first, second] = await stored();
  expect([first?.content?.parts, first?.actions.stateDelta]).toEqual([[{ text: '1' }], { count: { value: 1 } }]);
  expect([second?.content?.parts, second?.actions.stateDelta]).toEqual([[{ text: '2' }], { count: { value: 2 } }]);
});
