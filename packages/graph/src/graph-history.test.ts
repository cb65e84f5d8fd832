import {
  type BaseAgent,
  type BaseSessionService,
  type Event,
  getFunctionCalls,
  InvalidRequestError,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, LoopAgent } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { append, channel, END, type GraphAgent, node, START, stateAfter, StateGraph } from './index.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const IDS = { userId: 'u', sessionId: 's' };

/** Draft, critique and revise in a loop, then a person, then the end. */
function reviewGraph(ran: string[] = []): GraphAgent {
  const channels = {
    notes: channel(z.array(z.string()), { reducer: append, default: [] }),
    round: channel(z.number(), { stateKey: 'round', default: 0 }),
  };
  const count = node('count', (input: string) => input.length);
  return new StateGraph({ name: 'review', channels })
    .addNode(
      'draft',
      (input: string, context) => {
        ran.push(`draft ${context.state.round}`);
        context.update({ round: context.state.round + 1 });
        return `${input}.`;
      },
      { writes: ['round'] },
    )
    .addNode(
      'critique',
      async (input: string, context) => {
        ran.push(`critique ${context.state.round}`);
        context.update({ notes: [`note ${await context.runNode(count, input)}`] });
        return input;
      },
      { writes: ['notes'] },
    )
    .addNode('approve', (_: unknown, context) => context.requestInput({ message: 'Good?' }))
    .addNode('publish', (input: unknown, context) => ({
      input,
      notes: context.state.notes,
      round: context.state.round,
    }))
    .addEdge(START, 'draft')
    .addEdge('draft', 'critique')
    .addConditionalEdges('critique', (_, { state }) => (state.round < 2 ? 'again' : 'ask'), {
      again: 'draft',
      ask: 'approve',
    })
    .addEdge('approve', 'publish')
    .addEdge('publish', END)
    .compile();
}

async function setUp(ran: string[] = []) {
  const platform = fixedPlatform();
  const sessionService: BaseSessionService = new InMemorySessionService({ platform });
  await sessionService.createSession({ ...KEY, state: { other: 1, 'user:name': 'Ann' } });
  const runner = new Runner({ appName: 'app', agent: reviewGraph(ran), sessionService, platform, resumable: true });
  const asked = await runner.run({ ...IDS, newMessage: { parts: [{ text: 'text' }] } });
  const invocationId = asked[0]?.invocationId ?? '';
  const answer = (sessionId: string, events: readonly Event[], result: unknown) => {
    const question = events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_input');
    const newMessage = { parts: [{ functionResponse: { id: question?.id ?? '', response: { result } } }] };
    return runner.run({ userId: 'u', sessionId, newMessage });
  };
  const stored = async (sessionId = 's') => (await sessionService.getSession({ ...KEY, sessionId }))?.events ?? [];
  const history = async (sessionId = 's') => reviewGraph().history({ events: await stored(sessionId), invocationId });
  return { sessionService, runner, asked, invocationId, answer, stored, history };
}

test('the steps of a run are listed, with what nodes took and gave, and the state after each', async () => {
  const { history, asked, answer } = await setUp();
  const [waiting, ...more] = await history();
  expect(more).toEqual([]);
  expect(waiting).toMatchObject({
    status: 'waiting',
    input: 'text',
    entry: ['draft'],
    state: { notes: ['note 5', 'note 6'], round: 2 },
    questions: [{ node: 'approve', message: 'Good?' }],
  });
  expect(
    waiting?.steps.map(({ step, nodes, open }) => [
      step,
      nodes.map((each) => [each.node, each.input, each.output, each.next]),
      open.map(({ node: name }) => name),
      stateAfter(waiting, step),
    ]),
  ).toEqual([
    [1, [['draft', 'text', 'text.', ['critique']]], [], { notes: [], round: 1 }],
    [2, [['critique', 'text.', 'text.', ['draft']]], [], { notes: ['note 5'], round: 1 }],
    [3, [['draft', 'text.', 'text..', ['critique']]], [], { notes: ['note 5'], round: 2 }],
    [4, [['critique', 'text..', 'text..', ['approve']]], [], { notes: ['note 5', 'note 6'], round: 2 }],
    [5, [], ['approve'], { notes: ['note 5', 'note 6'], round: 2 }],
  ]);
  expect(waiting && stateAfter(waiting, 0)).toEqual({ notes: [], round: 0 });
  expect(waiting?.steps.map(({ changed, added }) => [changed, added])).toEqual([
    [{ round: 1 }, {}],
    [{ notes: ['note 5'] }, {}],
    [{ round: 2 }, {}],
    [{}, { notes: ['note 6'] }],
    [{}, {}],
  ]);
  expect(waiting?.steps[1]?.nodes[0]?.inner).toMatchObject([{ node: 'count', output: 5 }]);
  await answer('s', asked, 'yes');
  const [finished] = await history();
  expect(finished).toMatchObject({ status: 'finished', questions: [], output: { input: 'yes', round: 2 } });
  expect(finished?.steps.map(({ step, open }) => [step, open])).toEqual([1, 2, 3, 4, 5, 6].map((step) => [step, []]));
});

test('a run of a sub-graph is in the node that it is', async () => {
  const sub = new StateGraph({ name: 'sub' })
    .addNode('in', () => 1)
    .addEdge(START, 'in')
    .addEdge('in', END)
    .compile();
  const agent = new StateGraph({ name: 'g' }).addNode('sub', sub).addEdge(START, 'sub').addEdge('sub', END).compile();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService });
  const [first] = await runner.run({ ...IDS, newMessage: { parts: [{ text: 'x' }] } });
  const events = (await sessionService.getSession(KEY))?.events ?? [];
  const [history] = agent.history({ events, invocationId: first?.invocationId ?? '' });
  expect(history?.steps[0]?.nodes[0]).toMatchObject({
    node: 'sub',
    graph: { status: 'finished', output: 1, steps: [{ nodes: [{ node: 'in' }] }] },
  });
});

/** Runs an agent until it waits, and gives what is stored. */
async function waiting(agent: BaseAgent) {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, resumable: true });
  const [first] = await runner.run({ ...IDS, newMessage: { parts: [{ text: 'x' }] } });
  const invocationId = first?.invocationId ?? '';
  const query = async () => ({ events: (await sessionService.getSession(KEY))?.events ?? [], invocationId });
  return { sessionService, runner, invocationId, query };
}

function askingGraph(name = 'asking'): GraphAgent {
  return new StateGraph({ name })
    .addNode('before', () => 'done')
    .addNode('ask', (_: unknown, context) => context.requestInput({ message: 'Good?' }))
    .addEdge(START, 'before')
    .addEdge('before', 'ask')
    .addEdge('ask', END)
    .compile();
}

test('what a sub-graph asks is asked by the graph around it too, which shows how far the other is', async () => {
  const asking = askingGraph();
  const agent = new StateGraph({ name: 'g' })
    .addNode('asking', asking)
    .addEdge(START, 'asking')
    .addEdge('asking', END)
    .compile();
  const { query } = await waiting(agent);
  const [history] = agent.history(await query());
  expect(history).toMatchObject({
    status: 'waiting',
    questions: [{ node: 'ask', name: 'adk_request_input', message: 'Good?' }],
    steps: [
      {
        nodes: [],
        open: [
          {
            node: 'asking',
            run: '1-0',
            input: 'x',
            graph: { status: 'waiting', steps: [{ nodes: [{ node: 'before' }] }, { open: [{ node: 'ask' }] }] },
          },
        ],
      },
    ],
  });
});

test('a node that waits shows the runs that it started and that are done', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('outer', async (_: unknown, context) => {
      await context.runNode(
        node('quick', () => 'here'),
        null,
      );
      return context.requestInput();
    })
    .addEdge(START, 'outer')
    .addEdge('outer', END)
    .compile();
  const { query } = await waiting(agent);
  expect(agent.history(await query())[0]?.steps).toMatchObject([
    { nodes: [], open: [{ node: 'outer', inner: [{ node: 'quick', output: 'here' }] }] },
  ]);
});

test('a graph that is run in a loop has a history for each round, and each its own sub-graph', async () => {
  let round = 0;
  const sub = new StateGraph({ name: 'sub' })
    .addNode('in', () => ++round)
    .addEdge(START, 'in')
    .addEdge('in', END)
    .compile();
  const agent = new StateGraph({ name: 'g' }).addNode('sub', sub).addEdge(START, 'sub').addEdge('sub', END).compile();
  const { query } = await waiting(new LoopAgent({ name: 'loop', subAgents: [agent], maxIterations: 2 }));
  const histories = agent.history(await query());
  expect(histories.map(({ output, steps }) => [output, steps[0]?.nodes[0]?.graph?.output])).toEqual([
    [1, 1],
    [2, 2],
  ]);
});

test('a session is forked at a step and goes on differently, and what was before is not run again', async () => {
  const ran: string[] = [];
  const { sessionService, runner, invocationId, answer, stored, asked } = await setUp(ran);
  await answer('s', asked, 'yes');
  const before = await stored();
  const fork = await reviewGraph().fork({
    sessionService,
    ...KEY,
    invocationId,
    step: 2,
    newSessionId: 'fork',
    update: { round: 7, notes: ['mine'] },
  });
  expect(fork.state).toEqual({ other: 1, 'user:name': 'Ann', round: 7 });
  ran.length = 0;
  const events = await runner.run({ userId: 'u', sessionId: 'fork', invocationId });
  expect(ran).toEqual(['draft 7', 'critique 8']);
  const end = await answer('fork', events, 'no');
  expect(end.findLast(({ actions }) => actions.agentState?.['run'] === 'end')?.actions.agentState?.['output']).toEqual({
    input: 'no',
    notes: ['mine', 'note 6'],
    round: 8,
  });
  expect(await stored()).toEqual(before);
  expect((await sessionService.getSession(KEY))?.state['round']).toBe(2);
});

test.each([0, 1, 3, 4, 5])('a fork at step %s has the state that the session had after it', async (step) => {
  const { sessionService, invocationId, answer, asked, history } = await setUp();
  await answer('s', asked, 'yes');
  const [whole] = await history();
  const fork = await reviewGraph().fork({ sessionService, ...KEY, invocationId, step, newSessionId: 'fork' });
  expect(fork.state).toEqual({
    other: 1,
    'user:name': 'Ann',
    round: whole && stateAfter(whole, step)['round'],
  });
  const [forked] = await history('fork');
  expect(forked?.steps.filter(({ open }) => open.length === 0)).toEqual(whole?.steps.slice(0, step));
});

test('a fork at a step that there is not, is not done, or with a state that does not fit, is refused', async () => {
  const { sessionService, invocationId } = await setUp();
  const fork = (params: object) =>
    reviewGraph().fork({ sessionService, ...KEY, invocationId, step: 1, newSessionId: 'fork', ...params });
  await expect(fork({ step: 9 })).rejects.toThrow(InvalidRequestError);
  await expect(fork({ step: 5 })).rejects.toThrow(/no step 5 that is done/);
  await expect(fork({ invocationId: 'e-none' })).rejects.toThrow(/has no run of the graph "review"/);
  await expect(fork({ update: { notes: 'x' } })).rejects.toThrow(/"notes"/);
  await expect(fork({ update: { nothing: 1 } })).rejects.toThrow(/"nothing"/);
  expect(await sessionService.getSession({ ...KEY, sessionId: 'fork' })).toBeUndefined();
});

test('a tool that ran after the step of a fork runs again there, one before it does not', async () => {
  const calls: string[] = [];
  const tool = (name: string) => new FunctionTool({ name, description: '', execute: () => void calls.push(name) });
  const agent = new StateGraph({ name: 'g' })
    .addNode('one', tool('one'))
    .addNode('none', () => ({}))
    .addNode('two', tool('two'))
    .addEdge(START, 'none')
    .addEdge('none', 'one' as never)
    .addEdge('one' as never, 'two' as never)
    .addEdge('two' as never, END)
    .compile();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, resumable: true });
  const [first] = await runner.run({ ...IDS, newMessage: { parts: [{ text: 'x' }] } });
  const invocationId = first?.invocationId ?? '';
  await agent.fork({ sessionService, ...KEY, invocationId, step: 2, newSessionId: 'fork' });
  await runner.run({ userId: 'u', sessionId: 'fork', invocationId });
  expect(calls).toEqual(['one', 'two', 'two']);
});

test('a graph that a model called asks anew in a fork from before the question', async () => {
  const asking = askingGraph();
  const agent = new LlmAgent({
    name: 'caller',
    model: new ScriptedModel([{ calls: [{ name: 'asking', args: { request: 'x' } }] }, 'said yes', 'said no']),
    tools: [new AgentTool({ agent: asking })],
  });
  const { sessionService, runner, invocationId, query } = await waiting(agent);
  const answer = async (sessionId: string, result: string) => {
    const { events = [] } = (await sessionService.getSession({ ...KEY, sessionId })) ?? {};
    const question = events.flatMap(getFunctionCalls).findLast(({ name }) => name === 'adk_request_input');
    const newMessage = { parts: [{ functionResponse: { id: question?.id ?? '', response: { result } } }] };
    return runner.run({ userId: 'u', sessionId, newMessage });
  };
  await answer('s', 'yes');
  expect(asking.history(await query())).toMatchObject([{ status: 'finished', output: 'yes' }]);
  await asking.fork({ sessionService, ...KEY, invocationId, step: 1, newSessionId: 'fork' });
  const again = await runner.run({ userId: 'u', sessionId: 'fork', invocationId });
  expect(again.flatMap(getFunctionCalls)).toMatchObject([{ name: 'adk_request_input' }]);
  expect(JSON.stringify(await answer('fork', 'no'))).toContain('"result":"no"');
});

test('a fork has no state that was removed before the step, and has what is removed after it', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('one', (_: unknown, context) => context.callbackContext.state.remove('first'))
    .addNode('two', (_: unknown, context) => context.callbackContext.state.remove('second'))
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .addEdge('two', END)
    .compile();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ ...KEY, state: { first: 1, second: 2 } });
  const runner = new Runner({ appName: 'app', agent, sessionService, resumable: true });
  const [begin] = await runner.run({ ...IDS, newMessage: { parts: [{ text: 'x' }] } });
  const invocationId = begin?.invocationId ?? '';
  const fork = await agent.fork({ sessionService, ...KEY, invocationId, step: 1, newSessionId: 'fork' });
  expect(fork.state).toEqual({ second: 2 });
});

test('a run that cannot be resumed is not forked', async () => {
  const simple = new StateGraph({ name: 'simple' })
    .addNode('n', () => 1)
    .addEdge(START, 'n')
    .addEdge('n', END)
    .compile();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent: simple, sessionService });
  const [begin] = await runner.run({ ...IDS, newMessage: { parts: [{ text: 'x' }] } });
  const fork = simple.fork({
    sessionService,
    ...KEY,
    invocationId: begin?.invocationId ?? '',
    step: 1,
    newSessionId: 'fork',
  });
  await expect(fork).rejects.toThrow(InvalidRequestError);
});

test('a graph draws itself, and the way that a run took', async () => {
  const { history, asked, answer } = await setUp();
  const agent = reviewGraph();
  expect(agent.toMermaid()).toBe(`flowchart TD
  n0([start])
  n1["draft"]
  n2["critique"]
  n3["approve"]
  n4["publish"]
  n5([end])
  n0 --> n1
  n1 --> n2
  n2 -- "again" --> n1
  n2 -- "ask" --> n3
  n3 --> n4
  n4 --> n5
`);
  const marksOf = async () =>
    agent
      .toMermaid((await history())[0])
      .split('\n')
      .filter((line) => /class |linkStyle/.test(line));
  expect(await marksOf()).toEqual(['  class n0,n1,n2 done', '  class n3 open', '  linkStyle 0,1,2,3 stroke-width:3px']);
  await answer('s', asked, 'yes');
  expect(await marksOf()).toEqual(['  class n0,n1,n2,n3,n4,n5 done', '  linkStyle 0,1,2,3,4,5 stroke-width:3px']);
});

test('a chart shows sub-graphs, with what ran in them, and is whole whatever routes are called', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('sub', askingGraph())
    .addNode('last', () => 1)
    .addEdge(START, 'sub')
    .addConditionalEdges('sub', () => 'on', { on: 'last', 'say "x";\n#1': 'last', end: END })
    .addEdge('last', END)
    .compile();
  const { query } = await waiting(agent);
  expect(agent.toMermaid(agent.history(await query())[0])).toBe(`flowchart TD
  n0([start])
  subgraph n1 ["sub"]
    n1_0([start])
    n1_1["before"]
    n1_2["ask"]
    n1_3([end])
    n1_0 --> n1_1
    n1_1 --> n1_2
    n1_2 --> n1_3
  end
  n2["last"]
  n3([end])
  n0 --> n1
  n1 -- "on / say #34;x#34;#59; #35;1" --> n2
  n1 -- "end" --> n3
  n2 --> n3
  classDef done stroke-width:3px
  classDef open stroke-width:3px,stroke-dasharray:5 5
  class n1_0,n1_1,n0 done
  class n1_2,n1 open
  linkStyle 0,1,3 stroke-width:3px
`);
});

test('a node that runs again is marked as open alone', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('turn', async (round: unknown, context) => {
      if (round !== 'x') await context.requestInput();
      context.route = 'again';
    })
    .addEdge(START, 'turn')
    .addRoutes('turn', { again: 'turn', done: END })
    .compile();
  const { query } = await waiting(agent);
  const chart = agent.toMermaid(agent.history(await query())[0]);
  expect(chart.split('\n').filter((line) => line.includes('class '))).toEqual(['  class n0 done', '  class n1 open']);
});

test('a run that failed is told to have failed', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('fine', () => 1)
    .addNode('bad', () => {
      throw new TypeError('no');
    })
    .addEdge(START, 'fine')
    .addEdge('fine', 'bad')
    .addEdge('bad', END)
    .compile();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  for (const resumable of [false, true]) {
    const runner = new Runner({ appName: 'app', agent, sessionService, resumable });
    const stream = runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'x' }] } });
    await expect(async () => {
      for await (const _ of stream);
    }).rejects.toThrow('node "bad": no');
    const events = (await sessionService.getSession(KEY))?.events ?? [];
    const [history] = agent.history({ events, invocationId: stream.invocationId });
    expect(history).toMatchObject({
      status: 'failed',
      steps: [{ nodes: [{ node: 'fine' }] }, { nodes: [], open: [{ node: 'bad' }] }],
    });
    // What failed for good is gone on with from a step before it.
    if (!resumable) continue;
    await agent.fork({ sessionService, ...KEY, invocationId: stream.invocationId, step: 1, newSessionId: 'fork' });
    await expect(runner.run({ userId: 'u', sessionId: 'fork', invocationId: stream.invocationId })).rejects.toThrow(
      'node "bad": no',
    );
  }
});

test('a run whose graph has lost the node where it was says so', async () => {
  const { sessionService, invocationId, asked } = await setUp();
  const changed = new StateGraph({ name: 'review' })
    .addNode('other', () => 1)
    .addEdge(START, 'other')
    .addEdge('other', END)
    .compile();
  const runner = new Runner({ appName: 'app', agent: changed, sessionService, resumable: true });
  expect(asked).not.toEqual([]);
  await expect(runner.run({ ...IDS, invocationId })).rejects.toThrow(/graph "review": cannot be resumed at "approve"/);
});

test.each([undefined, 'items'])(
  'a history grows as the run does, whatever the channels hold, under the stateKey %s',
  async (stateKey) => {
    const item = (round: number) => ({ round, text: 'some words about it' });
    const sizeOf = async (rounds: number) => {
      const items = channel(z.array(z.object({ round: z.number(), text: z.string() })), {
        reducer: append,
        default: [],
        ...(stateKey === undefined ? {} : { stateKey }),
      });
      const sub = new StateGraph({ name: 'sub' })
        .addNode('in', () => 1)
        .addEdge(START, 'in')
        .addEdge('in', END)
        .compile();
      const agent = new StateGraph({ name: 'g', channels: { items } })
        .addNode('add', (_: unknown, context) => context.update({ items: [item(context.step)] }), { writes: ['items'] })
        .addNode('sub', sub)
        .addEdge(START, 'add')
        .addEdge('add', 'sub')
        .addConditionalEdges('sub', (_, { state }) => (state.items.length < rounds ? 'again' : 'done'), {
          again: 'add',
          done: END,
        })
        .compile();
      const { query } = await waiting(agent);
      const [history] = agent.history(await query());
      expect(history && stateAfter(history, 7)).toEqual({ items: [1, 3, 5, 7].map(item) });
      expect(history?.steps[7]?.nodes[0]?.graph?.output).toBe(1);
      return JSON.stringify(history).length;
    };
    expect((await sizeOf(40)) / (await sizeOf(20))).toBeLessThan(2.2);
  },
);

test('a state is that of a step which the run has', async () => {
  const { history } = await setUp();
  const [run] = await history();
  for (const step of [-1, 1.5, 6]) expect(() => run && stateAfter(run, step)).toThrow(InvalidRequestError);
});

test('what a run that failed asked is no open question any more', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('ask', (_: unknown, context) => context.requestInput())
    .addNode('bad', () => {
      throw new TypeError('no');
    })
    .addEdge(START, ['ask', 'bad'])
    .addEdge('ask', END)
    .addEdge('bad', END)
    .compile();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, resumable: true });
  const stream = runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'x' }] } });
  await expect(async () => {
    for await (const _ of stream);
  }).rejects.toThrow('node "bad": no');
  const events = (await sessionService.getSession(KEY))?.events ?? [];
  expect(events.flatMap(getFunctionCalls)).toHaveLength(1);
  const [history] = agent.history({ events, invocationId: stream.invocationId });
  expect(history).toMatchObject({ status: 'failed', questions: [] });
});

test('a history has what others wrote and removed under the key of a channel', async () => {
  const write = new FunctionTool({
    name: 'write',
    description: '',
    execute: (_, { state }) => state.set('k', ['agent']),
  });
  const remove = new FunctionTool({ name: 'remove', description: '', execute: (_, { state }) => state.remove('k') });
  const model = new ScriptedModel([{ calls: [{ name: 'write' }] }, 'done']);
  const agent = new StateGraph({
    name: 'g',
    channels: { k: channel(z.array(z.string()), { stateKey: 'k', default: [], reducer: append }) },
  })
    .addNode('agent', new LlmAgent({ name: 'a', model, tools: [write] }))
    .addNode('more', (_: unknown, context) => context.update({ k: ['more'] }), { writes: ['k'] })
    .addNode('keep', () => ({}))
    .addNode('remove', remove)
    .addEdge(START, 'agent')
    .addEdge('agent', 'more')
    .addEdge('more', 'keep')
    .addEdge('keep', 'remove')
    .addEdge('remove', END)
    .compile();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform() });
  await runner.run({ ...IDS, newMessage: { parts: [{ text: 'x' }] } });
  const events = (await sessionService.getSession(KEY))?.events ?? [];
  const [run] = agent.history({ events, invocationId: events[0]?.invocationId ?? '' });
  expect(run?.steps.map(({ changed, added, removed }) => ({ changed, added, removed }))).toEqual([
    { changed: { k: ['agent'] }, added: {}, removed: undefined },
    { changed: {}, added: { k: ['more'] }, removed: undefined },
    { changed: {}, added: {}, removed: undefined },
    { changed: {}, added: {}, removed: ['k'] },
  ]);
  expect(run?.state).toEqual({});
  expect([0, 1, 2, 3, 4].map((step) => run && stateAfter(run, step))).toEqual([
    { k: [] },
    { k: ['agent'] },
    { k: ['agent', 'more'] },
    { k: ['agent', 'more'] },
    {},
  ]);
});

test('a list that is added to, replaced and added to again is in a history what the channel holds', async () => {
  const l = channel(z.array(z.string()), {
    default: [],
    reducer: (current, [first = '', ...more]: string[]) =>
      first === 'new' ? more : [...(current ?? []), first, ...more],
  });
  const agent = new StateGraph({ name: 'g', channels: { l } })
    .addNode('a', (_: unknown, context) => context.update({ l: ['a'] }), { writes: ['l'] })
    .addNode('b', (_: unknown, context) => context.update({ l: ['b'] }), { writes: ['l'] })
    .addNode('anew', (_: unknown, context) => context.update({ l: ['new', 'x'] }), { writes: ['l'] })
    .addNode('c', (_: unknown, context) => context.update({ l: ['c'] }), { writes: ['l'] })
    .addEdge(START, 'a')
    .addEdge('a', ['b', 'anew'])
    .addJoin('both')
    .addEdge('b', 'both')
    .addEdge('anew', 'both')
    .addEdge('both', 'c')
    .addEdge('c', END)
    .compile();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform() });
  await runner.run({ ...IDS, newMessage: { parts: [{ text: 'x' }] } });
  const events = (await sessionService.getSession(KEY))?.events ?? [];
  const [run] = agent.history({ events, invocationId: events[0]?.invocationId ?? '' });
  expect(run?.steps.map(({ changed, added }) => ({ changed, added }))).toEqual([
    { changed: { l: ['a'] }, added: {} },
    { changed: { l: ['x'] }, added: {} },
    { changed: {}, added: {} },
    { changed: {}, added: { l: ['c'] } },
  ]);
  expect(run?.state).toEqual({ l: ['x', 'c'] });
  expect(run && stateAfter(run, 4)).toEqual({ l: ['x', 'c'] });
});

test('what was added to a list before it was replaced is not in the state after that', () => {
  const step = { nodes: [], open: [], changed: {}, added: {} };
  const steps = [
    { ...step, step: 1, added: { l: ['a'] } },
    { ...step, step: 2, changed: { l: ['x'] } },
    { ...step, step: 3, added: { l: ['c'] } },
  ];
  expect(stateAfter({ initialState: { l: [] }, steps }, 3)).toEqual({ l: ['x', 'c'] });
});
