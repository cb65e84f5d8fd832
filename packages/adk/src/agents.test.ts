import { LlmAgent as CoreLlmAgent } from '@eventloom/llm-agent';
import { SequentialAgent as CoreSequentialAgent } from '@eventloom/multi-agent';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  BaseAgent,
  type BaseAgentConfig,
  createEvent,
  type Event,
  FunctionTool,
  getLogger,
  InMemoryRunner,
  LlmAgent,
  type Logger,
  LoopAgent,
  node,
  ParallelAgent,
  RoutedAgent,
  SequentialAgent,
  setLogger,
  Workflow,
} from './index.ts';

class Own extends BaseAgent {
  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
    yield createEvent({ author: this.name, output: { n: 'one' } });
  }
}

const configuration = (message: string) => expect.objectContaining({ code: 'CONFIGURATION', message });

describe('an agent as a node', () => {
  const options = { timeout: 60, retryConfig: { maxAttempts: 2 }, rerunOnResume: false, isolationScope: 'inner' };
  const x = () => new LlmAgent({ name: 'x' });

  const agents = [
    ['LlmAgent', new LlmAgent({ name: 'a', ...options })],
    ['SequentialAgent', new SequentialAgent({ name: 'a', subAgents: [x()], ...options })],
    ['ParallelAgent', new ParallelAgent({ name: 'a', subAgents: [x()], ...options })],
    ['LoopAgent', new LoopAgent({ name: 'a', subAgents: [x()], ...options })],
    ['RoutedAgent', new RoutedAgent({ name: 'a', agents: [x()], router: () => 'x', ...options })],
    ['an agent class of the program', new Own({ name: 'a', ...options })],
  ] as const;

  test.each(agents)('has the options of a node that %s got', (_title, agent) => {
    expect(node(agent)).toMatchObject(options);
    const longer = { timeout: 90 };
    expect(node(agent, longer)).toMatchObject({ ...options, ...longer });
  });

  test('checks its output by its outputSchema', async () => {
    const agent = new Own({ name: 'a', outputSchema: z.object({ n: z.number() }) });
    const runner = new InMemoryRunner({ agent: new Workflow({ name: 'w', edges: [['START', agent]] }) });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'InMemoryRunner', userId: 'u' });
    const run = runner.run({ userId: 'u', sessionId, newMessage: { parts: [{ text: 'go' }] } });
    await expect(run).rejects.toThrow("Node 'a' output does not match its outputSchema");
  });

  test.each([
    [
      { timeout: 0 },
      'agent "a": timeout: expected a number of seconds above 0, at most 24 days, got the number 0; write timeout: 30',
    ],
    [
      { retryConfig: 3 },
      'agent "a": retryConfig: expected an object, got the number 3; write retryConfig: { maxAttempts: 3 }',
    ],
    [
      { beforeAgentCalback: () => undefined },
      'agent "a": has no option "beforeAgentCalback"; did you mean "beforeAgentCallback"?',
    ],
    [{ parentAgent: x() }, 'agent "a": has no option "parentAgent"; write the agent into the subAgents of its parent'],
  ])('of a class of the program refuses %o', (given, message) => {
    expect(() => new Own({ name: 'a', ...given } as BaseAgentConfig)).toThrow(configuration(message));
  });

  test.each([LlmAgent, SequentialAgent, Own])('refuses a parentAgent that is not undefined: %o', (Class) => {
    const given = (parentAgent: unknown): object => ({ name: 'a', subAgents: [], parentAgent });
    expect(Reflect.construct(Class, [given(undefined)])).toMatchObject({ name: 'a', parentAgent: undefined });
    expect(() => void Reflect.construct(Class, [given(x())])).toThrow(
      configuration('agent "a": has no option "parentAgent"; write the agent into the subAgents of its parent'),
    );
  });

  test.each([
    Own,
    class Painter extends LlmAgent {},
    class Steps extends SequentialAgent {},
    class Wide extends ParallelAgent {},
    class Rounds extends LoopAgent {},
  ])('of a class of the program may have options that only the class knows: %o', (Class) => {
    const given = { name: 'a', subAgents: [x()], agents: [x()], callback: () => undefined, color: 'red' };
    expect(Reflect.construct(Class, [given])).toMatchObject({ name: 'a' });
    expect(() => void Reflect.construct(Class, [{ ...given, descripton: 'Paints.' }])).toThrow(
      configuration('agent "a": has no option "descripton"; did you mean "description"?'),
    );
  });

  test.each([LlmAgent, SequentialAgent, ParallelAgent, LoopAgent])('refuses another option: %o', (Class) => {
    expect(() => void Reflect.construct(Class, [{ name: 'a', subAgents: [x()], color: 'red' }])).toThrow(
      'agent "a": has no option "color"; it has name, ',
    );
  });
});

describe('clone', () => {
  test('creates an agent of the same class with copies of its sub-agents, and without a parent', () => {
    const inner = new SequentialAgent({ name: 'inner', subAgents: [new Own({ name: 'own' })] });
    const root = new LlmAgent({ name: 'root', model: 'gemini-flash-latest', subAgents: [inner], timeout: 60 });
    const copy = root.clone({ name: 'copy', description: 'Copied.' });
    expect(copy).toMatchObject({ name: 'copy', description: 'Copied.', model: 'gemini-flash-latest' });
    expect(copy.findAgent('own')).toBeInstanceOf(Own);
    expect(copy.findAgent('own')).not.toBe(root.findAgent('own'));
    expect(node(copy).timeout).toBe(60);
    expect(inner.clone().parentAgent).toBeUndefined();
  });

  test('keeps tools for tasks, compactors and processors once', () => {
    const counter = new LlmAgent({ name: 'counter', mode: 'task' });
    const root = new LlmAgent({ name: 'root', subAgents: [counter], requestProcessors: [] });
    expect(root.clone().tools.map((tool) => ('name' in tool ? tool.name : ''))).toEqual(['counter']);
  });

  test('copies the agents that a RoutedAgent chooses from', () => {
    const fast = new LlmAgent({ name: 'fast' });
    const routed = new RoutedAgent({ name: 'routed', agents: { quick: fast }, router: () => 'quick' });
    const copy = routed.clone({ name: 'copy' });
    expect(copy.agents['quick']).toMatchObject({ name: 'fast', parentAgent: copy });
  });

  test('refuses a parent, and a sub-agent that cannot be copied', () => {
    const foreign = new CoreSequentialAgent({ name: 'foreign', subAgents: [] });
    const root = new LlmAgent({ name: 'root', subAgents: [foreign] });
    const parentAgent: object = { parentAgent: root };
    expect(() => root.clone(parentAgent)).toThrow(
      configuration(
        'agent "root": clone: parentAgent cannot be given; write the copy into the subAgents of its parent',
      ),
    );
    expect(() => root.clone()).toThrow(
      configuration(
        'agent "root": clone: its sub-agent "foreign" cannot be copied; write clone({ subAgents: [ … ] }) with new agents',
      ),
    );
    expect(root.clone({ subAgents: [] }).subAgents).toEqual([]);
  });
});

describe('an LLM agent', () => {
  const schema = z.object({ n: z.number() });

  test('with an outputSchema transfers neither to its parent nor to its peers, and warns about an option that allows it', () => {
    const warnings: string[] = [];
    const logger = getLogger();
    setLogger(
      Object.assign(Object.create(logger) as Logger, {
        warn: (...said: unknown[]) => void warnings.push(said.join(' ')),
      }),
    );
    try {
      const agent = new LlmAgent({ name: 'a', outputSchema: schema, disallowTransferToParent: false });
      expect(agent).toMatchObject({ disallowTransferToParent: true, disallowTransferToPeers: true });
      expect(warnings).toEqual([expect.stringContaining('because the agent has an outputSchema')]);
      expect(new LlmAgent({ name: 'b', outputSchema: schema }).disallowTransferToPeers).toBe(true);
      expect(new LlmAgent({ name: 'c' }).disallowTransferToPeers).toBe(false);
      expect(warnings).toHaveLength(1);
    } finally {
      setLogger(logger);
    }
  });

  test('has its model, or that of its nearest ancestor with one, as canonicalModel', () => {
    const model = new ScriptedModel([]);
    const child = new LlmAgent({ name: 'child' });
    const named = new LlmAgent({ name: 'named', model: 'gemini-flash-latest' });
    expect(() => child.canonicalModel).toThrow('agent "child": canonicalModel: neither it nor an LLM agent above');
    const steps = new SequentialAgent({ name: 'steps', subAgents: [child] });
    expect(new LlmAgent({ name: 'root', model, subAgents: [steps] }).canonicalModel).toBe(model);
    expect(child.canonicalModel).toBe(model);
    vi.stubEnv('GEMINI_API_KEY', 'test');
    expect(named.canonicalModel.model).toBe('gemini-flash-latest');
    vi.unstubAllEnvs();
  });

  test('lists the tools of its toolsets as canonicalTools', async () => {
    const add = new FunctionTool({ name: 'add', description: '', execute: () => 1 });
    expect(await new LlmAgent({ name: 'a', tools: [add] }).canonicalTools()).toEqual([add]);
  });

  test('returns its instruction, and the callbacks as lists', async () => {
    const callback = () => undefined;
    const agent = new LlmAgent({
      name: 'a',
      instruction: 'Be {mood}.',
      globalInstruction: () => 'Be brief.',
      beforeModelCallback: callback,
    });
    const context = {} as never;
    expect(await agent.canonicalInstruction(context)).toEqual({
      instruction: 'Be {mood}.',
      requireStateInjection: true,
    });
    expect(await agent.canonicalGlobalInstruction(context)).toEqual({
      instruction: 'Be brief.',
      requireStateInjection: false,
    });
    expect(agent.canonicalBeforeModelCallbacks).toEqual([callback]);
    expect([agent.canonicalAfterModelCallbacks, agent.canonicalAfterToolCallbacks]).toEqual([[], []]);
  });

  test('checks a value by its outputSchema', () => {
    const agent = new LlmAgent({ name: 'a', outputSchema: z.object({ n: z.number().default(1) }) });
    expect(agent.validateOutput({})).toEqual({ n: 1 });
    expect(() => agent.validateOutput({ n: 'x' })).toThrow(expect.objectContaining({ code: 'ADK_NODE_SCHEMA' }));
    expect(new LlmAgent({ name: 'b' }).validateOutput('x')).toBe('x');
    const slow = new LlmAgent({ name: 'c', outputSchema: z.string().refine(() => Promise.resolve(true)) });
    expect(() => slow.validateOutput('x')).toThrow('agent "c": validateOutput: its outputSchema checks asynchronously');
  });
});

test('agents of other packages are instances of BaseAgent and of the class that they extend', () => {
  expect(new CoreLlmAgent({ name: 'a' })).toBeInstanceOf(BaseAgent);
  expect(new LlmAgent({ name: 'a' })).toBeInstanceOf(BaseAgent);
  expect(new CoreSequentialAgent({ name: 'a', subAgents: [] })).toBeInstanceOf(SequentialAgent);
  expect(new SequentialAgent({ name: 'a', subAgents: [] })).not.toBeInstanceOf(LoopAgent);
  expect(new LlmAgent({ name: 'a' })).not.toBeInstanceOf(Own);
});
