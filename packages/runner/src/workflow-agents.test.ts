import { createEvent, groupByExecution } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import {
  exitLoop,
  LoopAgent,
  ParallelAgent,
  SequentialAgent,
  type SequentialAgentConfig,
} from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { Runner } from './runner.ts';
import { CustomAgent, sayer } from './fixtures/custom-agent.ts';
import { scenario, textOf, transferTo } from './fixtures/scenario.ts';

describe.each([
  ['SequentialAgent', (config: SequentialAgentConfig) => new SequentialAgent(config)],
  ['LoopAgent', (config: SequentialAgentConfig) => new LoopAgent(config)],
  ['ParallelAgent', (config: SequentialAgentConfig) => new ParallelAgent(config)],
])('the options of %s', (_, create) => {
  test('refuse an unknown name', () => {
    expect(() => create({ name: 'w', subAgents: [], subAgent: [] } as SequentialAgentConfig)).toThrow(
      'agent "w": has no option "subAgent"; did you mean "subAgents"?',
    );
  });

  test('require subAgents', () => {
    expect(() => create({ name: 'w' } as SequentialAgentConfig)).toThrow(
      'agent "w": subAgents is missing; write subAgents: [first, second]',
    );
  });
});

test.each([
  ['SequentialAgent', new SequentialAgent({ name: 'w', subAgents: [] })],
  ['ParallelAgent', new ParallelAgent({ name: 'w', subAgents: [] })],
])('a %s with an empty list of sub-agents yields nothing', async (_, agent) => {
  const { run } = await scenario({ agent });
  expect(await run()).toEqual([]);
});

test('custom agents may be nested between them, and missing event fields are filled in', async () => {
  const bare = new CustomAgent('bare', async function* () {
    yield createEvent({ content: { role: 'model', parts: [{ text: 'bare' }] } });
  });
  const inner = new SequentialAgent({ name: 'inner', subAgents: [sayer('a'), bare] });
  const loop = new LoopAgent({ name: 'loop', maxIterations: 1, subAgents: [inner] });
  const root = new ParallelAgent({ name: 'par', subAgents: [loop] });
  const { run, stored } = await scenario({ agent: root });
  const [, event] = await run();
  expect(event).toMatchObject({ author: 'bare', branch: 'par.loop' });
  const [request] = groupByExecution(await stored());
  const shape = (nodes = request?.executions ?? []): unknown =>
    nodes.map(({ events, children }) => [events.map(textOf), shape(children)]);
  // Workflow agents yield no text: the executions that they start have the execution above them as parent.
  expect(shape()).toEqual([
    [
      ['hi'],
      [
        [['a'], []],
        [['bare'], []],
      ],
    ],
  ]);
});

test('an agent without a model uses that of the nearest LlmAgent above it', async () => {
  const model = new ScriptedModel([transferTo('helper'), 'one']);
  const helper = new SequentialAgent({ name: 'helper', subAgents: [new LlmAgent({ name: 'leaf' })] });
  const { run } = await scenario({ agent: new LlmAgent({ name: 'top', model, subAgents: [helper] }) });
  expect((await run()).map(textOf).at(-1)).toBe('one');
});

test('an agent without any model fails its run with an error that says so', async () => {
  const { run } = await scenario({
    agent: new SequentialAgent({ name: 'steps', subAgents: [new LlmAgent({ name: 'leaf' })] }),
  });
  await expect(run()).rejects.toThrow('agent "leaf": has no model, and no LLM agent above it has one');
});

test('globalInstruction of the root applies to every agent of the tree', async () => {
  const model = new ScriptedModel([transferTo('helper'), 'done']);
  const helper = new LlmAgent({ name: 'helper', model, globalInstruction: 'Not mine.', instruction: 'Help.' });
  const root = new LlmAgent({ name: 'top', model, globalInstruction: 'Be {mood}.', subAgents: [helper] });
  const { run } = await scenario({ agent: root });
  await expect(run()).rejects.toThrow('mood');
  const plain = new LlmAgent({
    name: 'top2',
    model: new ScriptedModel([transferTo('helper')]),
    globalInstruction: 'Be brief.',
    subAgents: [new LlmAgent({ name: 'helper', model: new ScriptedModel([{ text: 'ok' }]), instruction: 'Help.' })],
  });
  const second = await scenario({ agent: plain });
  await second.run();
  const asked = (plain.subAgents[0] as LlmAgent).model as ScriptedModel;
  expect(asked.requests[0]?.request.config.systemInstruction).toMatch(/^Be brief\.\n\nHelp\.\n\n/);
});

test('tools and instructions that a caller adds reach only the called agent', async () => {
  const model = new ScriptedModel([{ calls: [{ name: 'exit_loop' }] }, 'again']);
  const worker = new LlmAgent({ name: 'worker', model, instruction: 'Work.' });
  const lead = new CustomAgent(
    'lead',
    async function* (context) {
      yield* worker.runAsync(context, { tools: [exitLoop], instructions: ['Leave when done.'] });
      yield* worker.runAsync(context);
    },
    { subAgents: [worker] },
  );
  const { run } = await scenario({ agent: lead });
  expect((await run())[1]?.actions.escalate).toBe(true);
  const [first, second] = model.requests.map(({ request }) => request);
  expect(first?.config.systemInstruction).toMatch(/^Work\.\n\nLeave when done\.\n\n/);
  expect(Object.keys(first?.toolsDict ?? {})).toEqual(['exit_loop']);
  expect(second?.config.systemInstruction).not.toContain('Leave');
  expect(Object.keys(second?.toolsDict ?? {})).toEqual([]);
});

test('closing a runner closes every agent of the tree, and agents in AgentTools', async () => {
  const closed: string[] = [];
  class Closing extends CustomAgent {
    override async close(): Promise<void> {
      closed.push(this.name);
      await super.close();
    }
  }
  const leaf = new Closing('leaf', async function* () {});
  const mid = new Closing('mid', async function* () {}, { subAgents: [leaf] });
  const root = new SequentialAgent({ name: 'root', subAgents: [mid] });
  await new Runner({ appName: 'app', agent: root, sessionService: new InMemorySessionService() }).close();
  expect(closed).toEqual(['mid', 'leaf']);
});
