import { isFinalResponse } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  ConfigurationError,
  type Event,
  FunctionTool,
  InMemoryMemoryService,
  InMemoryRunner,
  LlmAgent,
  LOAD_MEMORY,
  Runner,
} from './index.ts';

const KEY = { userId: 'ann', sessionId: 's' };
const newMessage = { role: 'user', parts: [{ text: 'hi' }] };

describe('an in-memory runner', () => {
  test('runs an agent with tools, state and artifacts without further setup', async () => {
    const tool = new FunctionTool({
      name: 'save',
      description: 'Saves a text.',
      parameters: z.object({ text: z.string() }),
      async execute({ text }, context) {
        context.state.set('saved', text);
        return { version: await context.saveArtifact('a.txt', { text }) };
      },
    });
    const model = new ScriptedModel([{ calls: [{ name: 'save', args: { text: 'x' } }] }, 'done']);
    const runner = new InMemoryRunner({
      agent: new LlmAgent({ name: 'agent', model, tools: [tool] }),
      autoCreateSession: true,
    });
    const events: Event[] = await runner.run({ ...KEY, newMessage });
    expect(events.filter(isFinalResponse).map(({ content }) => content?.parts)).toEqual([[{ text: 'done' }]]);
    expect(events[1]?.actions).toMatchObject({ stateDelta: { saved: 'x' }, artifactDelta: { 'a.txt': 0 } });
  });

  test('creates a memory service unless one is given', async () => {
    const memoryService = new InMemoryMemoryService();
    for (const config of [{}, { memoryService }]) {
      const model = new ScriptedModel(['noted', { calls: [{ name: 'load_memory', args: { query: 'owl' } }] }, 'done']);
      const afterAgentCallback: LlmAgent['afterAgentCallback'][number] = async (context) => {
        await context.addSessionToMemory();
        return undefined;
      };
      const agent = new LlmAgent({ name: 'agent', model, tools: [LOAD_MEMORY], afterAgentCallback });
      const runner = new InMemoryRunner({ agent, autoCreateSession: true, ...config });
      await runner.run({ ...KEY, newMessage: { parts: [{ text: 'an owl' }] } });
      const events = await runner.run({ ...KEY, sessionId: 'other', newMessage });
      const response = events[1]?.content?.parts?.[0]?.functionResponse?.response;
      expect(response).toMatchObject({ memories: [{ content: 'an owl', author: 'user' }] });
    }
    const query = { appName: 'InMemoryRunner', userId: 'ann', query: 'owl' };
    expect((await memoryService.searchMemory(query)).memories).toHaveLength(1);
  });

  test('is a Runner with the app name InMemoryRunner by default', () => {
    const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel([]) });
    const runner = new InMemoryRunner({ agent });
    expect([runner instanceof Runner, runner.appName]).toEqual([true, 'InMemoryRunner']);
    expect(new InMemoryRunner({ agent, appName: 'mine' }).appName).toBe('mine');
  });

  test('resolves a model name to a Gemini model, and throws if the key is missing', async () => {
    const agent = new LlmAgent({ name: 'agent', model: 'gemini-flash-latest' });
    const without = new InMemoryRunner({ agent, autoCreateSession: true });
    await expect(without.run({ ...KEY, newMessage })).rejects.toThrow(/apiKey is missing/);
    const { models } = new InMemoryRunner({ agent, gemini: { apiKey: 'key' } });
    expect(models?.('gemini-flash-latest')?.model).toBe('gemini-flash-latest');
  });

  test('resolves a model name with the given models', async () => {
    const agent = new LlmAgent({ name: 'agent', model: 'mine' });
    const models = (): ScriptedModel => new ScriptedModel(['done']);
    const events = await new InMemoryRunner({ agent, models, autoCreateSession: true }).run({ ...KEY, newMessage });
    expect(events[0]?.content?.parts).toEqual([{ text: 'done' }]);
  });

  test('throws ConfigurationError for an agent in place of its options, and says what to write', () => {
    const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel([]) });
    expect(() => new InMemoryRunner(agent as never)).toThrow('write new InMemoryRunner({ agent })');
  });

  test('throws ConfigurationError for an unknown option', () => {
    const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel([]) });
    expect(() => new InMemoryRunner({ agent, live: true } as never)).toThrow('write live: live(), of @eventloom/live');
    expect(() => new InMemoryRunner({ agent, sesionCache: {} } as never)).toThrow(ConfigurationError);
  });
});

test('Runner says what to write if it gets no options, or an agent in place of its options', () => {
  const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel([]) });
  const write = "write new Runner({ appName: 'app', agent, sessionService })";
  expect(() => new Runner(undefined as never)).toThrow(`Runner: expected an object of options, got nothing; ${write}`);
  expect(() => new Runner(agent as never)).toThrow(`Runner: got an agent; ${write}`);
});
