/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import {
  BaseAgent,
  type BaseAgentConfig,
  ConfigurationError,
  createEvent,
  type Event,
  groupByExecution,
  type InvocationContext,
  RunAbortedError,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { exitLoop, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { Runner } from './runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

class CustomAgent extends BaseAgent {
  readonly #script: Script;

  constructor(name: string, script: Script, config: Partial<BaseAgentConfig> = {}) {
    super({ name, ...config });
    this.#script = script;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#script(context);
  }
}

function sayer(name: string, text = name): CustomAgent {
  return new CustomAgent(name, async function* (context) {
    yield context.createEvent({ content: { role: 'model', parts: [{ text }] } });
  });
}

/** Says something and leaves the loop, in the round that is named. */
function leaver(name: string, inRound: number): CustomAgent {
  let round = 0;
  return new CustomAgent(name, async function* (context) {
    const escalate = ++round === inRound;
    yield context.createEvent({ content: { role: 'model', parts: [{ text: name }] }, actions: { escalate } });
    if (escalate) yield context.createEvent({ content: { role: 'model', parts: [{ text: `${name} leaves` }] } });
  });
}

async function setUp(agent: BaseAgent) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, platform });
  const run = (text = 'hi'): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text }] } });
  const stored = async () => ((await sessionService.getSession(KEY)) ?? expect.unreachable()).events;
  return { run, stored, runner };
}

async function texts(agent: BaseAgent): Promise<(string | undefined)[]> {
  const { run } = await setUp(agent);
  return (await run()).map(textOf);
}

function textOf(event: Event): string | undefined {
  return event.content?.parts?.[0]?.text;
}

function agentOf(name: string, steps: ScriptedStep[], config: object = {}): LlmAgent {
  return new LlmAgent({ name, model: new ScriptedModel(steps), ...config });
}

const transfer: ScriptedStep = { calls: [{ name: 'transfer_to_agent', args: { agent_name: 'helper' } }] };

describe('SequentialAgent', () => {
  test('runs its sub-agents in order, each on what the ones before stored', async () => {
    const model = new ScriptedModel(['sketch', 'text']);
    const root = new SequentialAgent({
      name: 'steps',
      subAgents: [
        new LlmAgent({ name: 'drafter', model, outputKey: 'draft' }),
        new LlmAgent({ name: 'writer', model, instruction: 'Write out {draft}.' }),
      ],
    });
    expect(await texts(root)).toEqual(['sketch', 'text']);
    expect(model.requests[1]?.request.config.systemInstruction).toMatch(/^Write out sketch\./);
  });

  test('goes on after a sub-agent that handed over, once the target is done', async () => {
    const asker = agentOf('asker', [transfer], { subAgents: [agentOf('helper', ['helped'])] });
    const root = new SequentialAgent({ name: 'steps', subAgents: [asker, sayer('next')] });
    expect(await texts(root)).toEqual([
      undefined,
      undefined,
      'Transferring control to agent: helper',
      'helped',
      'next',
    ]);
  });

  test('ends where the invocation is ended', async () => {
    const ender = new CustomAgent('ender', async function* (context) {
      context.endInvocation();
    });
    expect(await texts(new SequentialAgent({ name: 'steps', subAgents: [sayer('a'), ender, sayer('b')] }))).toEqual([
      'a',
    ]);
  });

  test('does nothing without sub-agents', async () => {
    expect(await texts(new SequentialAgent({ name: 'steps' }))).toEqual([]);
  });

  test('fails with the sub-agent that fails, and the rest does not run', async () => {
    const broken = new CustomAgent('broken', async function* () {
      throw new TypeError('no');
    });
    const { run, stored } = await setUp(new SequentialAgent({ name: 'steps', subAgents: [broken, sayer('b')] }));
    await expect(run()).rejects.toThrow('no');
    expect((await stored()).map((event) => event.errorCode)).toEqual([undefined, 'AGENT']);
  });

  test('leaves the failure to the agent that failed, wherever it is, on its branch', async () => {
    const broken = new CustomAgent('broken', async function* () {
      throw new TypeError('no');
    });
    const lane = new LoopAgent({ name: 'lane', subAgents: [broken] });
    const par = new ParallelAgent({ name: 'par', subAgents: [lane] });
    const { run, stored } = await setUp(new SequentialAgent({ name: 'steps', subAgents: [sayer('a'), par] }));
    await expect(run()).rejects.toThrow('no');
    expect((await stored()).at(-1)).toMatchObject({ author: 'broken', branch: 'par.lane', errorCode: 'AGENT' });
  });

  test.each([
    ['in a sequence', (agent: BaseAgent) => new SequentialAgent({ name: 'steps', subAgents: [agent] })],
    ['at the top', (agent: BaseAgent) => agent],
  ])('leaves it to an agent %s that catches one failure and fails with another', async (_, place) => {
    const broken = new CustomAgent('broken', async function* () {
      throw new TypeError('caught');
    });
    const careless = new CustomAgent(
      'careless',
      async function* (context) {
        try {
          yield* broken.runAsync(context);
        } catch {
          throw new TypeError('no');
        }
      },
      { subAgents: [broken] },
    );
    const { run, stored } = await setUp(place(careless));
    await expect(run()).rejects.toThrow('no');
    expect((await stored()).at(-1)).toMatchObject({
      author: 'careless',
      errorMessage: expect.stringContaining('agent "careless"'),
    });
  });

  test('is told before and after, as every agent is', async () => {
    const root = new SequentialAgent({
      name: 'steps',
      subAgents: [sayer('a')],
      beforeAgentCallback: ({ state }) => state.set('began', true),
      afterAgentCallback: () => ({ parts: [{ text: 'after' }] }),
    });
    const { run } = await setUp(root);
    const events = await run();
    expect(events[0]?.actions.stateDelta).toEqual({ began: true });
    expect(events.map((event) => [event.author, textOf(event)])).toEqual([
      ['steps', undefined],
      ['a', 'a'],
      ['steps', 'after'],
    ]);
  });
});

test('SequentialAgent begins no agent once the run is aborted', async () => {
  const controller = new AbortController();
  let begun = 0;
  const deaf = (name: string) =>
    new CustomAgent(name, async function* () {
      begun++;
      controller.abort();
    });
  const { runner } = await setUp(new SequentialAgent({ name: 'steps', subAgents: [deaf('a'), deaf('b')] }));
  const newMessage = { parts: [{ text: 'hi' }] };
  const running = runner.run({ userId: 'u', sessionId: 's', newMessage, abortSignal: controller.signal });
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  expect(begun).toBe(1);
});

describe('LoopAgent', () => {
  test('runs its sub-agents round after round, as often as it may', async () => {
    const root = new LoopAgent({ name: 'loop', maxIterations: 2, subAgents: [sayer('a'), sayer('b')] });
    expect(await texts(root)).toEqual(['a', 'b', 'a', 'b']);
  });

  test('ends when an agent escalates: it finishes, and the rest of the round is skipped', async () => {
    const root = new LoopAgent({ name: 'loop', subAgents: [sayer('a'), leaver('b', 2), sayer('c')] });
    expect(await texts(root)).toEqual(['a', 'b', 'c', 'a', 'b', 'b leaves']);
  });

  test('ends when a model calls exit_loop, which nobody puts into words', async () => {
    const steps: ScriptedStep[] = ['again', { calls: [{ name: 'exit_loop' }] }];
    const critic = agentOf('critic', steps, { tools: [exitLoop] });
    const { run } = await setUp(new LoopAgent({ name: 'loop', subAgents: [critic, sayer('fixer')] }));
    const events = await run();
    expect(events.map((event) => event.author)).toEqual(['critic', 'fixer', 'critic', 'critic']);
    expect(events.at(-1)?.actions).toMatchObject({ escalate: true, skipSummarization: true });
  });

  test('of loops in loops the innermost one ends', async () => {
    const inner = new LoopAgent({ name: 'inner', maxIterations: 2, subAgents: [leaver('a', 1), sayer('b')] });
    const root = new LoopAgent({ name: 'outer', maxIterations: 2, subAgents: [inner, sayer('c')] });
    expect(await texts(root)).toEqual(['a', 'a leaves', 'c', 'a', 'b', 'a', 'b', 'c']);
  });

  test('a hand-over within a round is part of the round, also its escalation', async () => {
    const helper = leaver('helper', 1);
    const asker = agentOf('asker', [transfer], { subAgents: [helper] });
    const root = new LoopAgent({ name: 'loop', maxIterations: 3, subAgents: [asker, sayer('skipped')] });
    const said = await texts(root);
    expect(said.slice(-2)).toEqual(['helper', 'helper leaves']);
  });

  test.each([
    ['it finishes its turn', false, 2],
    ['its model is not asked again with skipSummarization', true, 1],
  ])('ends when a tool of one’s own escalates: %s', async (_, skipSummarization, modelCalls) => {
    const judge = new FunctionTool({
      name: 'judge',
      description: '',
      execute: (_args, { actions }) => {
        actions.escalate = true;
        if (skipSummarization) actions.skipSummarization = true;
        return 'good';
      },
    });
    const model = new ScriptedModel([{ calls: [{ name: 'judge' }] }, 'it is good']);
    const critic = new LlmAgent({ name: 'critic', model, tools: [judge] });
    const { run } = await setUp(new LoopAgent({ name: 'loop', subAgents: [critic, sayer('fixer')] }));
    expect(new Set((await run()).map((event) => event.author))).toEqual(new Set(['critic']));
    expect(model.calls).toBe(modelCalls);
  });

  test('escalating where there is no loop leaves the answer to the model', async () => {
    const judge = new FunctionTool({
      name: 'judge',
      description: '',
      execute: (_args, { actions }) => {
        actions.escalate = true;
        return 'good';
      },
    });
    const model = new ScriptedModel([{ calls: [{ name: 'judge' }] }, 'it is good']);
    const { run } = await setUp(new LlmAgent({ name: 'critic', model, tools: [judge] }));
    expect((await run()).at(-1)?.content?.parts).toEqual([{ text: 'it is good' }]);
  });

  test('begins no agent once the run is aborted, whether its agents listen or not', async () => {
    const controller = new AbortController();
    let begun = 0;
    const deaf = new CustomAgent('deaf', async function* () {
      if (++begun === 3) controller.abort();
    });
    const { runner } = await setUp(new LoopAgent({ name: 'loop', maxIterations: 10, subAgents: [deaf] }));
    const newMessage = { parts: [{ text: 'hi' }] };
    const running = runner.run({ userId: 'u', sessionId: 's', newMessage, abortSignal: controller.signal });
    await expect(running).rejects.toBeInstanceOf(RunAbortedError);
    expect(begun).toBe(3);
  });

  test.each<[string, (begin: () => void) => BaseAgent]>([
    [
      'say nothing',
      (begin) =>
        new CustomAgent('silent', async function* () {
          begin();
        }),
    ],
    [
      'yield events',
      (begin) =>
        new CustomAgent('talker', async function* (context) {
          begin();
          yield context.createEvent({ partial: true });
        }),
    ],
    [
      'are answered for by a callback',
      (begin) =>
        agentOf('llm', [], {
          beforeAgentCallback: () => {
            begin();
            return { parts: [{ text: 'no' }] };
          },
        }),
    ],
  ])('without an end, of agents that %s, lets the rest of the process go on, and can be aborted', async (_, create) => {
    const controller = new AbortController();
    let begun = 0;
    const begin = (): void => {
      if (++begun > 10_000) throw new RangeError('the event loop never had its turn');
    };
    const { runner } = await setUp(new LoopAgent({ name: 'loop', subAgents: [create(begin)] }));
    const newMessage = { parts: [{ text: 'hi' }] };
    const running = runner.run({ userId: 'u', sessionId: 's', newMessage, abortSignal: controller.signal });
    // What somebody else wants to do with the event loop.
    setTimeout(() => controller.abort());
    await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  });

  test('ends at once without sub-agents', async () => {
    expect(await texts(new LoopAgent({ name: 'loop' }))).toEqual([]);
  });

  test('is stopped by endInvocation in the middle of a round', async () => {
    const ender = new CustomAgent('ender', async function* (context) {
      context.endInvocation();
    });
    expect(await texts(new LoopAgent({ name: 'loop', subAgents: [sayer('a'), ender, sayer('b')] }))).toEqual(['a']);
  });

  test.each([0, -1, 1.5, Number.NaN])('refuses %d rounds', (maxIterations) => {
    expect(() => new LoopAgent({ name: 'loop', maxIterations })).toThrow(
      new ConfigurationError('agent "loop": maxIterations must be an integer of at least 1'),
    );
  });
});

describe('the options of workflow agents', () => {
  test.each([
    ['SequentialAgent', (config: BaseAgentConfig) => new SequentialAgent(config)],
    ['LoopAgent', (config: BaseAgentConfig) => new LoopAgent(config)],
    ['ParallelAgent', (config: BaseAgentConfig) => new ParallelAgent(config)],
  ])('%s refuses one that it does not have', (_, create) => {
    expect(() => create({ name: 'w', subAgent: [] } as BaseAgentConfig)).toThrow(
      'agent "w": subAgent is not supported by this version',
    );
  });
});

test('agents of one’s own stand among them, and what they leave out of their events is filled in', async () => {
  const bare = new CustomAgent('bare', async function* () {
    yield createEvent({ content: { role: 'model', parts: [{ text: 'bare' }] } });
  });
  const inner = new SequentialAgent({ name: 'inner', subAgents: [sayer('a'), bare] });
  const loop = new LoopAgent({ name: 'loop', maxIterations: 1, subAgents: [inner] });
  const root = new ParallelAgent({ name: 'par', subAgents: [loop] });
  const { run, stored } = await setUp(root);
  const [, event] = await run();
  expect(event).toMatchObject({ author: 'bare', branch: 'par.loop' });
  const [request] = groupByExecution(await stored());
  const shape = (nodes = request?.executions ?? []): unknown =>
    nodes.map(({ events, children }) => [events.map(textOf), shape(children)]);
  // Workflow agents say nothing themselves: what they start hangs below the execution above them.
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

test('an agent without a model takes that of the nearest LLM agent above, whatever stands between', async () => {
  const model = new ScriptedModel([transfer, 'one']);
  const helper = new SequentialAgent({ name: 'helper', subAgents: [new LlmAgent({ name: 'leaf' })] });
  const { run } = await setUp(new LlmAgent({ name: 'top', model, subAgents: [helper] }));
  expect((await run()).map(textOf).at(-1)).toBe('one');
});

test('an agent that finds no model fails its run and says so', async () => {
  const { run } = await setUp(new SequentialAgent({ name: 'steps', subAgents: [new LlmAgent({ name: 'leaf' })] }));
  await expect(run()).rejects.toThrow('agent "leaf": has no model, and no LLM agent above it has one');
});

test('the global instruction is the root’s, for every agent of the tree', async () => {
  const model = new ScriptedModel([transfer, 'done']);
  const helper = new LlmAgent({ name: 'helper', model, globalInstruction: 'Not mine.', instruction: 'Help.' });
  const root = new LlmAgent({ name: 'top', model, globalInstruction: 'Be {mood}.', subAgents: [helper] });
  const { run } = await setUp(root);
  await expect(run()).rejects.toThrow('mood');
  const plain = new LlmAgent({
    name: 'top2',
    model: new ScriptedModel([transfer]),
    globalInstruction: 'Be brief.',
    subAgents: [new LlmAgent({ name: 'helper', model: new ScriptedModel([{ text: 'ok' }]), instruction: 'Help.' })],
  });
  const second = await setUp(plain);
  await second.run();
  const asked = (plain.subAgents[0] as LlmAgent).model as ScriptedModel;
  expect(asked.requests[0]?.request.config.systemInstruction).toMatch(/^Be brief\.\n\nHelp\.\n\n/);
});

test('what whoever runs an agent gives it for this run is there for it, and for nobody else', async () => {
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
  const { run } = await setUp(lead);
  expect((await run())[1]?.actions.escalate).toBe(true);
  const [first, second] = model.requests.map(({ request }) => request);
  expect(first?.config.systemInstruction).toMatch(/^Work\.\n\nLeave when done\.\n\n/);
  expect(Object.keys(first?.toolsDict ?? {})).toEqual(['exit_loop']);
  expect(second?.config.systemInstruction).not.toContain('Leave');
  expect(Object.keys(second?.toolsDict ?? {})).toEqual([]);
});

test('closing a runner closes every agent of the tree, and agents that are tools', async () => {
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
