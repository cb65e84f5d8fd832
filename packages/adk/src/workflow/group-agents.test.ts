import { createEvent, type Event, getFunctionCalls, type InvocationContext, type LlmRequest } from '@eventloom/core';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { answer, authoredOutputsOf, outputsOf, talk } from '../fixtures/workflow-talk.ts';
import {
  BaseAgent,
  FunctionTool,
  JoinNode,
  LlmAgent,
  type LlmAgentConfig,
  LoopAgent,
  node,
  type NodeContext,
  ParallelAgent,
  RoutedAgent,
  SequentialAgent,
  Workflow,
} from '../index.ts';

const CONFIRMATION = 'adk_request_confirmation';
const FINISH = { calls: [{ name: 'finish_task', args: { result: 'finished' } }] };

/** An agent that answers with its name, and the requests to its model. */
function speaker(name: string, options: Partial<LlmAgentConfig> = {}) {
  const model = new ScriptedModel(Array.from({ length: 4 }, () => `${name} said`));
  return new LlmAgent({ name, model, ...options });
}

/** A payer asks for approvals of its payments; `payments` has the names of those that were made. */
function payments() {
  const made: string[] = [];
  const payer = (name: string, mode?: 'task' | 'single_turn', rounds = 1): LlmAgent => {
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      requireConfirmation: true,
      execute: () => void made.push(name),
    });
    const steps: ScriptedStep[] = Array.from({ length: rounds }, () => [
      { calls: [{ name: 'pay' }] },
      mode === 'task' ? FINISH : 'Paid.',
    ]).flat();
    return new LlmAgent({ name, model: new ScriptedModel(steps), tools: [pay], ...(mode && { mode }) });
  };
  return { made, payer };
}

const last = node((_context: NodeContext, input: unknown) => ({ last: input ?? null }), { name: 'last' });

/** Sends a message to a workflow, and approves what it asks, one after another. Returns the events of all runs. */
async function playApproved(body: BaseAgent): Promise<Event[]> {
  const { send } = await talk([['START', body, last]]);
  const said = await send('go');
  const approved = new Set<string>();
  for (;;) {
    const open = said
      .flatMap(getFunctionCalls)
      .find(({ name, id }) => name === CONFIRMATION && id !== undefined && !approved.has(id));
    if (open?.id === undefined) return said;
    approved.add(open.id);
    said.push(...(await send(answer(open.id, { confirmed: true }, CONFIRMATION))));
  }
}

/** Yields an output, and then runs another agent. */
class Announcer extends BaseAgent {
  readonly #next: BaseAgent | undefined;

  constructor(next?: BaseAgent) {
    super({ name: 'announcer', subAgents: next ? [next] : [] });
    this.#next = next;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield createEvent({ author: this.name, output: 'announced' });
    if (this.#next) yield* context.runAgent(this.#next);
  }
}

describe.each(['single_turn', 'task'] as const)('a node with agents with the mode %s', (mode) => {
  type Payer = ReturnType<typeof payments>['payer'];
  test.each<[title: string, names: string[], (payer: Payer) => BaseAgent]>([
    [
      'a SequentialAgent',
      ['a', 'b', 'c'],
      (payer) => new SequentialAgent({ name: 'g', subAgents: [payer('a', mode), payer('b'), payer('c', mode)] }),
    ],
    [
      'a LoopAgent',
      ['a', 'a'],
      (payer) => new LoopAgent({ name: 'g', maxIterations: 2, subAgents: [payer('a', mode, 2)] }),
    ],
    [
      'a ParallelAgent',
      ['a', 'b'],
      (payer) => new ParallelAgent({ name: 'g', subAgents: [payer('a', mode), payer('b', mode)] }),
    ],
    [
      'a RoutedAgent in a SequentialAgent',
      ['a', 'b'],
      (payer) => {
        const routed = new RoutedAgent({ name: 'r', agents: [payer('a', mode)], router: () => 'a' });
        return new SequentialAgent({ name: 'g', subAgents: [routed, payer('b')] });
      },
    ],
    [
      'a node that runs a SequentialAgent with runNode',
      ['a', 'b'],
      (payer) => {
        const group = new SequentialAgent({ name: 'g', subAgents: [payer('a', mode), payer('b')] });
        return node(async (context: NodeContext) => (await context.runNode(group)).output, {
          name: 'outer',
          rerunOnResume: true,
        });
      },
    ],
  ])('waits in %s for each approval, and has no output', async (_title, names, toBody) => {
    const { made, payer } = payments();
    const said = await playApproved(toBody(payer));
    expect(made.toSorted()).toEqual(names);
    expect(outputsOf(said)).toEqual([{ last: null }]);
  });
});

test.each(['task', 'single_turn'] as const)(
  'an agent in a node waits for an approval after the result of its sub-agent with the mode %s',
  async (mode) => {
    const { made, payer } = payments();
    const helper = new LlmAgent({
      name: 'helper',
      mode,
      model: new ScriptedModel([mode === 'task' ? FINISH : 'helped']),
    });
    const model = new ScriptedModel([
      { calls: [{ name: 'helper', args: { request: 'help' } }] },
      { calls: [{ name: 'pay' }] },
      'Done.',
    ]);
    const lead = new LlmAgent({ name: 'lead', model, subAgents: [helper], tools: payer('lead').tools });
    expect(outputsOf(await playApproved(lead)).slice(-2)).toEqual(['Done.', { last: 'Done.' }]);
    expect(made).toEqual(['lead']);
  },
);

test('the output of an agent of the program is that of its node, also if agents after it ask', async () => {
  const { made, payer } = payments();
  const bodies = [
    new Announcer(payer('a')),
    new SequentialAgent({ name: 'g', subAgents: [new Announcer(), payer('b')] }),
    new ParallelAgent({ name: 'g', subAgents: [payer('c'), new Announcer()] }),
  ];
  for (const body of bodies)
    expect(authoredOutputsOf(await playApproved(body)).at(-1)).toEqual(['last', { last: 'announced' }]);
  expect(made).toEqual(['a', 'b', 'c']);
});

test('a node of the program that runs an agent with a mode has no output of it', async () => {
  const group = new SequentialAgent({ name: 'g', subAgents: [speaker('a', { mode: 'single_turn' })] });
  const runner = node((context: NodeContext) => group.runAsync(context.invocationContext), { name: 'runner' });
  expect(outputsOf(await playApproved(runner))).toEqual([{ last: null }]);
});

describe('the agents of a group agent in a node', () => {
  const beside = node(() => 'beside', { name: 'beside' });
  const join = new JoinNode({ name: 'join' });
  const sequence = (options: Partial<LlmAgentConfig> = {}) => {
    const agents = [speaker('a', options), speaker('b', options)];
    return { agents, group: new SequentialAgent({ name: 'g', subAgents: agents }) };
  };
  const textsOf = ({ contents }: LlmRequest): string[] =>
    contents.map(({ parts }) => (parts ?? []).map(({ text }) => text).join(' '));
  const readBy = (agents: readonly LlmAgent[]): string[][][] =>
    agents.map(({ model }) =>
      (model instanceof ScriptedModel ? model.requests : []).map((asked) => textsOf(asked.request)),
    );

  test('read the message of the user beside another node', async () => {
    const { agents, group } = sequence();
    const { send } = await talk([['START', [group, beside], join]]);
    await send('go');
    expect(readBy(agents)).toEqual([[['go']], [['go', 'For context: [a] said: a said']]]);
  });

  test('read the current turn only with includeContents none', async () => {
    const { agents, group } = sequence({ includeContents: 'none' });
    const { send } = await talk([['START', [group, beside], join]]);
    await send('go');
    expect(readBy(agents)).toEqual([[['go']], [['For context: [a] said: a said']]]);
  });

  test('read what agents of the nodes before them said, and no agent beside them', async () => {
    const { agents, group } = sequence();
    const inner = new Workflow({ name: 'inner', edges: [['START', group]] });
    const { send } = await talk([['START', speaker('first'), [inner, speaker('other')], join]]);
    await send('go');
    const first = 'For context: [first] said: first said';
    expect(readBy(agents)).toEqual([[['go', first]], [['go', first, 'For context: [a] said: a said']]]);
  });

  test('read the message of the user in each run of a parallel worker', async () => {
    const { agents, group } = sequence();
    const items = node(() => ['p', 'q'], { name: 'items' });
    const { send } = await talk([['START', items, node(group, { parallelWorker: true })]]);
    await send('go');
    const before = ['go', 'For context: [items] said: p [items] said: q'];
    const after = [...before, 'For context: [a] said: a said'];
    expect(readBy(agents)).toEqual([
      [before, before],
      [after, after],
    ]);
  });
});
