import { getFunctionCalls, InvalidRequestError, createEvent, type Event } from '@eventloom/core';
import { LoopAgent } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { expect, test } from 'vitest';
import { setUp } from './fixtures/review-graph.ts';
import { askingGraph, waiting } from './fixtures/waiting-run.ts';
import { openQuestions } from './graph-history.ts';
import { END, node, START, stateAfter, StateGraph } from './index.ts';
import { IDS, KEY, scenario } from '../../runner/src/fixtures/scenario.ts';

test('history lists the steps with inputs, outputs and the state after each', async () => {
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

test('history nests the run of a sub-graph in its node', async () => {
  const sub = new StateGraph({ name: 'sub' })
    .addNode('in', () => 1)
    .addEdge(START, 'in')
    .addEdge('in', END)
    .compile();
  const agent = new StateGraph({ name: 'g' }).addNode('sub', sub).addEdge(START, 'sub').addEdge('sub', END).compile();
  const { run, stored } = await scenario({ agent });
  const [first] = await run('x');
  const events = await stored();
  const [history] = agent.history({ events, invocationId: first?.invocationId ?? '' });
  expect(history?.steps[0]?.nodes[0]).toMatchObject({
    node: 'sub',
    graph: { status: 'finished', output: 1, steps: [{ nodes: [{ node: 'in' }] }] },
  });
});

test("history lists a sub-graph's questions in the outer graph, with the progress of the sub-graph", async () => {
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

test('history shows the completed inner runs of a waiting node', async () => {
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

test('history has one entry for each round of a loop, each with its own sub-graph run', async () => {
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

test('history gives a failed run the status failed', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('fine', () => 1)
    .addNode('bad', () => {
      throw new TypeError('no');
    })
    .addEdge(START, 'fine')
    .addEdge('fine', 'bad')
    .addEdge('bad', END)
    .compile();
  for (const resumable of [false, true]) {
    const { runner, start, stored, sessionService } = await scenario({ agent, resumable });
    const stream = start('x');
    await expect(async () => {
      for await (const _ of stream);
    }).rejects.toThrow('node "bad": no');
    const events = await stored();
    const [history] = agent.history({ events, invocationId: stream.invocationId });
    expect(history).toMatchObject({
      status: 'failed',
      steps: [{ nodes: [{ node: 'fine' }] }, { nodes: [], open: [{ node: 'bad' }] }],
    });
    // A run that failed for good can be forked from an earlier step.
    if (!resumable) continue;
    await agent.fork({ sessionService, ...KEY, invocationId: stream.invocationId, step: 1, newSessionId: 'fork' });
    await expect(runner.run({ userId: 'u', sessionId: 'fork', invocationId: stream.invocationId })).rejects.toThrow(
      'node "bad": no',
    );
  }
});

test('resuming a run throws when its graph has lost the current node', async () => {
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

test('stateAfter throws for a step that the run does not have', async () => {
  const { history } = await setUp();
  const [run] = await history();
  for (const step of [-1, 1.5, 6]) expect(() => run && stateAfter(run, step)).toThrow(InvalidRequestError);
});

test('history lists no questions of a failed run', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('ask', (_: unknown, context) => context.requestInput())
    .addNode('bad', () => {
      throw new TypeError('no');
    })
    .addEdge(START, ['ask', 'bad'])
    .addEdge('ask', END)
    .addEdge('bad', END)
    .compile();
  const { start, stored } = await scenario({ agent, resumable: true });
  const stream = start('x');
  await expect(async () => {
    for await (const _ of stream);
  }).rejects.toThrow('node "bad": no');
  const events = await stored();
  expect(events.flatMap(getFunctionCalls)).toHaveLength(1);
  const [history] = agent.history({ events, invocationId: stream.invocationId });
  expect(history).toMatchObject({ status: 'failed', questions: [] });
});

const start = createEvent({ id: 'begin', executionId: 'x', author: 'g' });

function asked(id: string, place: { readonly branch?: string; readonly executionId?: string }): Event {
  const content = { role: 'model', parts: [{ functionCall: { id, name: 'later', args: {} } }] };
  return createEvent({ id: `e-${id}`, author: 'someone', content, longRunningToolIds: [id], ...place });
}

test('openQuestions returns questions of the graph and inside its nodes, and of no other agent', () => {
  const events = [
    start,
    asked('own', { executionId: 'x' }),
    asked('node', { executionId: 'y', branch: 'helper@1-0' }),
    asked('deeper', { executionId: 'z', branch: 'sub@1-0.helper@2-1' }),
    asked('beside', { executionId: 'v', branch: 'both.helper' }),
    asked('tool', { executionId: 'w', branch: 'helper@call-1' }),
  ];
  expect(openQuestions(start, events).map(({ id }) => id)).toEqual(['own', 'node', 'deeper']);
});

test("openQuestions returns questions on branches below the graph's branch", () => {
  const onBranch = { ...start, branch: 'both.g' };
  const events = [
    onBranch,
    asked('node', { executionId: 'y', branch: 'both.g.helper@1-0' }),
    asked('other', { executionId: 'z', branch: 'both.h.helper@1-0' }),
    asked('outside', { executionId: 'v', branch: 'helper@1-0' }),
  ];
  expect(openQuestions(onBranch, events).map(({ id }) => id)).toEqual(['node']);
});

test('openQuestions omits answered questions', () => {
  const parts = [{ functionResponse: { id: 'own', name: 'later', response: {} } }];
  const answer = createEvent({ id: 'a', author: 'user', content: { role: 'user', parts } });
  expect(openQuestions(start, [start, asked('own', { executionId: 'x' }), answer])).toEqual([]);
});
