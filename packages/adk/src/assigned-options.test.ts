import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type BaseAgent, FunctionTool, InMemoryRunner, LlmAgent, node, SequentialAgent } from './index.ts';

const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });

/** Sends a message to the agent in a new session. Returns the state afterwards. */
async function play(agent: BaseAgent): Promise<Record<string, unknown> | undefined> {
  const runner = new InMemoryRunner({ agent, appName: 'app' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  await runner.run({ userId: 'u', sessionId, newMessage: { role: 'user', parts: [{ text: 'go' }] } });
  return (await runner.sessionService.getSession({ appName: 'app', userId: 'u', sessionId }))?.state;
}

describe('an option that a program assigns to an LlmAgent', () => {
  test('is used from the next turn on', async () => {
    const first = new ScriptedModel(['first']);
    const model = new ScriptedModel([{ calls: [{ name: 'look' }] }, { text: '{"n":1}' }]);
    const agent = new LlmAgent({ name: 'agent', model: first, instruction: 'Speak.' });
    await play(agent);
    const seen: string[] = [];
    agent.model = model;
    agent.instruction = 'Look.';
    agent.generateContentConfig = { temperature: 0.5 };
    agent.tools = [look];
    agent.outputKey = 'said';
    agent.outputSchema = z.object({ n: z.number() });
    agent.beforeToolCallback = [({ tool }) => void seen.push(tool.name)];
    agent.requestProcessors = [
      {
        async *runAsync(_context, request) {
          request.config.topP = 0.9;
          yield* [];
        },
      },
    ];
    expect(await play(agent)).toEqual({ said: { n: 1 } });
    expect(seen).toEqual(['look']);
    const config = model.requests[0]?.request.config;
    expect(config).toMatchObject({ temperature: 0.5, topP: 0.9 });
    expect(config?.systemInstruction).toContain('Look.');
    expect(agent.tools).toEqual([look]);
  });

  test('is in the copies that clone creates', () => {
    const agent = new LlmAgent({ name: 'agent', model: 'one', instruction: 'Speak.' });
    agent.model = 'two';
    expect(agent.clone({ name: 'other' })).toMatchObject({ name: 'other', model: 'two', instruction: 'Speak.' });
  });

  test('keeps the tools of its tasks, and its place in the tree', () => {
    const task = new LlmAgent({ name: 'task', mode: 'single_turn' });
    const agent = new LlmAgent({ name: 'agent', model: 'one', subAgents: [task] });
    const root = new SequentialAgent({ name: 'root', subAgents: [agent] });
    agent.tools = [look];
    expect(agent.tools.map((tool) => ('name' in tool ? tool.name : tool))).toEqual(['look', 'task']);
    expect([agent.parentAgent, task.parentAgent]).toEqual([root, agent]);
  });

  test.each<[keyof LlmAgent, unknown, string]>([
    ['tools', [look, look], 'agent "agent": two tools have the name "look"'],
    ['tools', look, 'agent "agent": tools: expected a list'],
    ['tools', [node(() => 1, { name: 'plain' })], 'has no inputSchema'],
    ['instruction', 5, 'agent "agent": instruction: expected'],
    ['generateContentConfig', { temperture: 1 }, 'did you mean "temperature"?'],
    ['beforeModelCallback', 'x', 'agent "agent": beforeModelCallback: expected a function'],
    ['mode', 'task', 'agent "agent": mode cannot be assigned; write new LlmAgent({ …, mode })'],
  ])('%s is checked when it is assigned: %j', (option, value, message) => {
    const agent = new LlmAgent({ name: 'agent', model: 'one', instruction: 'Speak.' });
    expect(() => Reflect.set(agent, option, value)).toThrow(message);
    expect(agent).toMatchObject({ instruction: 'Speak.', tools: [], mode: undefined });
  });

  test("is in what Node's console.log shows", () => {
    const agent = new LlmAgent({ name: 'agent', model: 'one', instruction: 'Speak.' });
    agent.model = 'two';
    const shown = agent[Symbol.for('nodejs.util.inspect.custom') as keyof typeof agent] as unknown as () => object;
    expect(shown.call(agent)).toMatchObject({ name: 'agent', model: 'two', instruction: 'Speak.' });
  });

  test('cannot be changed in place if it is a list', () => {
    const agent = new LlmAgent({ name: 'agent', model: 'one' });
    for (const option of [
      'tools',
      'requestProcessors',
      'responseProcessors',
      'contextCompactors',
      'beforeModelCallback',
    ] as const)
      expect(() => (agent[option] as unknown[]).push(look)).toThrow('the lists of an agent cannot be changed');
  });
});
