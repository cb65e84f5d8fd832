import { BaseAgent, type Event, type InvocationContext } from '@eventloom/core';
import { expect, test } from 'vitest';
import { answer, talk } from '../fixtures/workflow-talk.ts';
import { createEvent, type EdgeItem, JoinNode, LlmAgent, node, RequestInput, Workflow } from '../index.ts';

interface Described {
  readonly status: string;
  readonly entry: readonly string[];
  readonly steps: readonly {
    readonly nodes: readonly { readonly node: string; readonly next: readonly string[] }[];
    readonly open: readonly { readonly node: string }[];
  }[];
}

/** Describes the run of the last event. */
function describeRun(workflow: BaseAgent, events: readonly Event[]) {
  const { graph, runs, mermaid } =
    workflow.describeRun({ events, invocationId: events.at(-1)?.invocationId ?? '' }) ?? {};
  return { graph, runs: (runs ?? []) as readonly Described[], mermaid };
}

/** The status of a run, the nodes that are done, each with those that followed, and the nodes that run. */
function wayOf({ status, steps }: Described) {
  const done = steps.flatMap(({ nodes }) => nodes.map(({ node: name, next }) => `${name} > ${next.join(', ')}`));
  return { status, done, open: steps.flatMap(({ open }) => open.map(({ node: name }) => name)) };
}

const text = (name: string) => node(() => name, { name });

test('a workflow describes its nodes and edges, with routes', async () => {
  const pick = node(() => createEvent({ output: 'x', route: 'left' }), { name: 'pick' });
  const inner = new Workflow({ name: 'inner', edges: [['START', text('deep')]] });
  const join = new JoinNode({ name: 'join' });
  const speaker = new LlmAgent({ name: 'speaker', model: 'none' });
  const edges: EdgeItem[] = [
    ['START', pick, { left: speaker, __DEFAULT__: inner }],
    [[speaker, inner], join],
  ];
  const workflow = new Workflow({ name: 'w', edges });
  expect(describeRun(workflow, [])).toEqual({
    graph: {
      name: 'w',
      nodes: [
        { name: 'pick', kind: 'function' },
        { name: 'speaker', kind: 'agent' },
        { name: 'inner', kind: 'graph' },
        { name: 'join', kind: 'join' },
      ],
      edges: [
        { from: '__start__', to: 'pick' },
        { from: 'pick', to: 'speaker', route: 'left' },
        { from: 'pick', to: 'inner', route: 'otherwise' },
        { from: 'speaker', to: 'join' },
        { from: 'inner', to: 'join' },
        { from: 'join', to: '__end__' },
      ],
    },
    runs: [],
    mermaid: expect.stringContaining('n1 -- "left" --> n2'),
  });
  expect(workflow.calledAgents.map(({ name }) => name)).toEqual(['speaker', 'inner']);
});

test('a workflow without edges has no graph', () => {
  const workflow = new Workflow({ name: 'w', dynamicEntry: () => 'x' });
  expect(workflow.describeRun({ events: [], invocationId: 'i' })).toBeUndefined();
});

test('a node runs from the event of the one before it to its own', async () => {
  const seen: unknown[] = [];
  const look = (name: string) =>
    node(
      async () => {
        seen.push(...describeRun(workflow, await stored()).runs.map(wayOf));
        return name;
      },
      { name },
    );
  const inner = new Workflow({ name: 'inner', edges: [['START', text('deep')]] });
  const workflow: Workflow = new Workflow({ name: 'w', edges: [['START', look('first'), inner, look('second')]] });
  const { send, stored } = await talk(workflow);
  await send('go');
  expect(seen).toEqual([
    { status: 'open', done: [], open: ['first'] },
    { status: 'open', done: ['first > inner', 'inner > second'], open: ['second'] },
  ]);
  const { runs, mermaid } = describeRun(workflow, await stored());
  expect(runs.map(wayOf)).toEqual([
    { status: 'finished', done: ['first > inner', 'inner > second', 'second > __end__'], open: [] },
  ]);
  expect(mermaid).toContain('linkStyle 0,1,2,3 stroke-width:3px');
});

test.each([
  ['an event with a route', () => createEvent({ output: 'x', route: 'left' })],
  [
    'a route that the function assigns',
    (context: { route: unknown }) => {
      context.route = 'left';
      return 'x';
    },
  ],
])('the taken path follows %s', async (_, pick) => {
  const edges: EdgeItem[] = [['START', node(pick, { name: 'pick' }), { left: text('l'), right: text('r') }]];
  const workflow = new Workflow({ name: 'w', edges });
  const { send, stored } = await talk(workflow);
  await send('go');
  const { runs } = describeRun(workflow, await stored());
  expect(runs.map(wayOf)).toEqual([{ status: 'finished', done: ['pick > l', 'l > __end__'], open: [] }]);
});

test('a join follows all nodes before it', async () => {
  const edges: EdgeItem[] = [
    ['START', [text('a'), text('b')], new JoinNode({ name: 'join' }), node(() => undefined, { name: 'quiet' })],
  ];
  const workflow = new Workflow({ name: 'w', edges });
  const { send, stored } = await talk(workflow);
  await send('go');
  const [run] = describeRun(workflow, await stored()).runs;
  expect(run?.entry).toEqual(['a', 'b']);
  expect(run && wayOf(run)).toEqual({
    status: 'finished',
    done: ['a > join', 'b > join', 'join > quiet', 'quiet > __end__'],
    open: [],
  });
});

test('a cycle and a workflow in a node have runs of their own', async () => {
  let rounds = 0;
  const inner = new Workflow({ name: 'inner', edges: [['START', text('deep'), text('deeper')]] });
  const again = node(() => createEvent({ output: 'x', route: ++rounds < 2 ? 'again' : 'done' }), { name: 'again' });
  const edges: EdgeItem[] = [
    ['START', inner, again],
    [again, { again: inner, done: text('last') }],
  ];
  const workflow = new Workflow({ name: 'w', edges });
  const { send, stored } = await talk(workflow);
  await send('go');
  const events = await stored();
  expect(describeRun(workflow, events).runs.map(wayOf)).toEqual([
    {
      status: 'finished',
      done: ['inner > again', 'again > inner', 'inner > again', 'again > last', 'last > __end__'],
      open: [],
    },
  ]);
  const round = { status: 'finished', done: ['deep > deeper', 'deeper > __end__'], open: [] };
  expect(describeRun(inner, events).runs.map(wayOf)).toEqual([round, round]);
});

test('a node that asks a person waits', async () => {
  const ask = node(() => new RequestInput({ interruptId: 'city' }), { name: 'ask' });
  const workflow = new Workflow({ name: 'w', edges: [['START', text('first'), ask, text('last')]] });
  const { send, stored } = await talk(workflow);
  await send('go');
  expect(describeRun(workflow, await stored()).runs.map(wayOf)).toEqual([
    { status: 'waiting', done: ['first > ask'], open: ['ask'] },
  ]);
  await send(answer('city', { result: 'Oslo' }));
  expect(describeRun(workflow, await stored()).runs.map(wayOf)).toMatchObject([
    { status: 'finished', done: ['first > ask', 'ask > last', 'last > __end__'] },
  ]);
});

test('a failed node gives its run the status failed', async () => {
  const bad = node(
    () => {
      throw new TypeError('bad');
    },
    { name: 'bad' },
  );
  const workflow = new Workflow({ name: 'w', edges: [['START', text('first'), bad]] });
  const { sendToFailure, stored } = await talk(workflow);
  await sendToFailure('go');
  expect(describeRun(workflow, await stored()).runs.map(wayOf)).toEqual([
    { status: 'failed', done: ['first > bad'], open: ['bad'] },
  ]);
});

test('nodes that leave no event are on the path to the next one that does', async () => {
  class Unnamed extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'said' }] } });
    }
  }
  const quiet = (name: string) => node(() => undefined, { name });
  const edges: EdgeItem[] = [['START', quiet('a'), quiet('b'), new Unnamed({ name: 'c' }), quiet('d'), text('e')]];
  const workflow = new Workflow({ name: 'w', edges });
  const { send, stored } = await talk(workflow);
  await send('go');
  // As a run that cannot be resumed stores it.
  const events = (await stored()).filter(({ content, output }) => content !== undefined || output !== undefined);
  expect(describeRun(workflow, events).runs.map(wayOf)).toEqual([
    { status: 'finished', done: ['a > b', 'b > c', 'c > d', 'd > e', 'e > __end__'], open: [] },
  ]);
});
