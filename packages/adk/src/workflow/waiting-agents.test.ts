import {
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type InvocationContext,
  type LlmRequest,
  type LlmResponse,
  type Part,
  requestInput,
} from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { END, START, StateGraph } from '@eventloom/graph';
import { findLooseEnds } from '@eventloom/runner';
import { fixedPlatform, Gate, ScriptedModel } from '@eventloom/testing';
import { expect, test, vi } from 'vitest';
import { answer, KEY, outputsOf, talk } from '../fixtures/workflow-talk.ts';
import {
  AgentTool,
  BaseAgent,
  BaseLlm,
  type EdgeItem,
  FunctionTool,
  InMemorySessionService,
  JoinNode,
  LlmAgent,
  LongRunningFunctionTool,
  node,
  type NodeContext,
  type NodeLike,
  ParallelAgent,
  RequestInput,
  Runner,
  SequentialAgent,
  Workflow,
} from '../index.ts';

const CONFIRMATION = 'adk_request_confirmation';

/** A conversation with a workflow in which an agent, whose tool needs an approval, works beside another node. */
async function talkBeside(beside: NodeLike, onEvent?: (event: Event) => void) {
  let payments = 0;
  const pay = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    requireConfirmation: true,
    execute: () => `paid ${++payments}`,
  });
  const model = new ScriptedModel([{ calls: [{ name: 'pay' }] }, 'Done.']);
  const payer = new LlmAgent({ name: 'payer', model, tools: [pay] });
  const { send } = await talk([['START', [payer, beside], new JoinNode({ name: 'join' })]], onEvent && { onEvent });
  return { send, payments: () => payments };
}

const confirmations = (events: readonly Event[]): string[] =>
  events.flatMap(getFunctionCalls).flatMap(({ name, id }) => (name === CONFIRMATION && id !== undefined ? id : []));
const lastOutput = (events: readonly Event[]): unknown => outputsOf(events).at(-1);

test('an agent that waits for an approval gets it, if a node beside it ended later without an output', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const silent = node(() => promise, { name: 'silent' });
  const { send, payments } = await talkBeside(silent, (event) => {
    if (confirmations([event]).length > 0) resolve(undefined);
  });
  const [id = ''] = confirmations(await send('go'));
  expect(lastOutput(await send(answer(id, { confirmed: true }, CONFIRMATION)))).toEqual({ payer: 'Done.' });
  expect(payments()).toBe(1);
});

test('the approval that is still open is yielded again after the answer to another question, which cannot be given twice', async () => {
  const ask = node((_context: NodeContext) => new RequestInput({ interruptId: 'city' }), { name: 'ask' });
  const { send, payments } = await talkBeside(ask);
  const open = confirmations(await send('go'));
  expect(open).toHaveLength(1);
  const city = answer('city', { result: 'Oslo' });
  expect(confirmations(await send(city))).toEqual(open);
  await expect(send(city)).rejects.toThrow('the request "city" has already been answered');
  const events = await send(answer(open[0] ?? '', { confirmed: true }, CONFIRMATION));
  expect(lastOutput(events)).toEqual({ payer: 'Done.', ask: 'Oslo' });
  expect(payments()).toBe(1);
});

test.each(['AgentTool', 'NodeTool'])('an agent of a workflow in an %s waits for an approval', async (title) => {
  const paid: string[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    requireConfirmation: true,
    execute: (_, context) => void paid.push(context?.functionCallId ?? ''),
  });
  const first = node(() => void paid.push('first'), { name: 'first' });
  const payModel = new ScriptedModel([
    { calls: [{ id: 'p1', name: 'pay' }] },
    { calls: [{ id: 'p2', name: 'pay' }] },
    'One.',
    'Two.',
  ]);
  const payer = new LlmAgent({ name: 'payer', model: payModel, tools: [pay] });
  const inputSchema = title === 'NodeTool' ? { type: 'string' } : undefined;
  const last = node((_context: NodeContext, text: string) => `last ${text}`, { name: 'last' });
  const flow = new Workflow({ name: 'flow', description: '', inputSchema, edges: [['START', first, payer, last]] });
  const calls = ['c1', 'c2'].map((id) => ({ id, name: 'flow', args: { request: id } }));
  const model = new ScriptedModel([{ calls }, 'All done.']);
  const { send, sessionService } = await talk(
    new LlmAgent({ name: 'top', model, tools: [title === 'AgentTool' ? new AgentTool({ agent: flow }) : flow] }),
  );
  const asked = confirmations(await send('go'));
  expect(asked).toHaveLength(2);
  const said: Event[] = [];
  for (const id of asked) said.push(...(await send(answer(id, { confirmed: true }, CONFIRMATION))));
  expect(paid).toEqual(['first', 'first', 'p1', 'p2']);
  expect(said.flatMap(getFunctionResponses).filter(({ name }) => name === 'flow')).toMatchObject(
    ['last One.', 'last Two.'].map((result, at) => ({ id: calls[at]?.id, response: { result } })),
  );
  model.assertConsumed();
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
});

test.each(['AgentTool', 'NodeTool'])(
  'agents side by side in a workflow in an %s continue with their approvals',
  async (title) => {
    const ran: string[] = [];
    const inputSchema = title === 'NodeTool' ? { type: 'string' } : undefined;
    const side = (name: string) => new SequentialAgent({ name, subAgents: [buying(`${name}-agent`, ran, [name])] });
    const join = new JoinNode({ name: 'join' });
    const last = node(() => 'last', { name: 'last' });
    const edges: EdgeItem[] = [['START', [side('a'), side('b')], join, last]];
    const flow = new Workflow({ name: 'flow', description: '', inputSchema, edges });
    const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'flow', args: { request: 'x' } }] }, 'All done.']);
    const tools = [title === 'AgentTool' ? new AgentTool({ agent: flow }) : flow];
    const { send, sessionService } = await talk(new LlmAgent({ name: 'top', model, tools }));
    for (const id of confirmations(await send('go'))) await send(answer(id, { confirmed: true }, CONFIRMATION));
    expect(ran).toEqual(['a', 'b']);
    model.assertConsumed();
    expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
  },
);

test('an agent that sees the conversation reads its input once, and not the agents beside it, when it continues', async () => {
  const work = new FunctionTool({ name: 'work', description: '', requireConfirmation: true, execute: () => 'worked' });
  const model = new ScriptedModel([{ calls: [{ name: 'work' }] }, 'Done.']);
  const sees = new LlmAgent({ name: 'sees', model, tools: [work], includeContents: 'default' });
  const beside = new LlmAgent({ name: 'beside', model: new ScriptedModel(['Beside.']) });
  const [first, fast] = ['first', 'fast'].map((name) => node(() => `${name} said`, { name }));
  const join = new JoinNode({ name: 'join' });
  const { send } = await talk([['START', first ?? join, [sees, fast ?? join, beside], join]]);
  const [id = ''] = confirmations(await send('go'));
  await send(answer(id, { confirmed: true }, CONFIRMATION));
  const { contents = [] } = model.requests.at(-1)?.request ?? {};
  const said = JSON.stringify(contents);
  expect(said.split('first said')).toHaveLength(2);
  expect(said).not.toContain('Beside.');
  expect(contents.at(-1)?.parts).toMatchObject([{ functionResponse: { response: { result: 'worked' } } }]);
});

test('the turn of an agent in a node looks at no calls of earlier runs', async () => {
  const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const model = new ScriptedModel([{ calls: [{ name: 'look' }] }, 'One.', { calls: [{ name: 'look' }] }, 'Two.']);
  const agent = new LlmAgent({ name: 'agent', model, tools: [look], includeContents: 'default' });
  const { send } = await talk([['START', agent]]);
  await send('go');
  using all = vi.spyOn(Calls.prototype, 'all', 'get');
  expect(outputsOf(await send('again'))).toEqual(['Two.']);
  expect(all).not.toHaveBeenCalled();
});

/**
 * Runs a workflow of an agent and a last node, and answers its questions one after the other. Returns what ran, in
 * order, and the loose ends.
 */
async function answerEach(
  agentOf: (ran: string[]) => NodeLike,
  { onEvent, order = 'first' }: { onEvent?: (event: Event) => void; order?: 'first' | 'last' } = {},
) {
  const ran: string[] = [];
  const last = node(() => void ran.push('last'), { name: 'last' });
  const { send, stored, sessionService } = await talk([['START', agentOf(ran), last]], onEvent && { onEvent });
  await send('go');
  for (let answers = 0; answers < 4; answers++) {
    const questions = new Calls(await stored()).waiting.filter(({ call }) => call.name?.startsWith('adk_request_'));
    const question = questions.at(order === 'first' ? 0 : -1);
    if (!question) break;
    await send(answer(question.id, { confirmed: true }, question.call.name));
  }
  return { ran, looseEnds: await findLooseEnds(sessionService, KEY) };
}

/** A model that makes calls, and is done afterwards. It does the same in each attempt. */
class BuyingModel extends BaseLlm {
  readonly #calls: readonly string[];

  constructor(calls: readonly string[]) {
    super({ model: 'buying' });
    this.#calls = calls;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const isDone = contents.some(({ role }) => role === 'model');
    const calls = this.#calls.map((id) => ({ functionCall: { id, name: 'buy', args: {} } }));
    yield { content: { role: 'model', parts: isDone ? [{ text: 'Done.' }] : calls }, finishReason: 'STOP' };
  }
}

const buying = (name: string, ran: string[], calls: readonly string[]) =>
  new LlmAgent({
    name,
    model: new BuyingModel(calls),
    tools: [
      new FunctionTool({
        name: 'buy',
        description: 'Buys.',
        requireConfirmation: true,
        execute: (_, context) => ran.push(context?.functionCallId ?? ''),
      }),
    ],
  });
const asksAndEnds = (name: string, ran: string[]) =>
  new Workflow({
    name,
    edges: [
      [
        'START',
        node(() => new RequestInput({ interruptId: `${name}-q` }), { name: `${name}-ask` }),
        node(() => void ran.push(name), { name: `${name}-end` }),
      ],
    ],
  });

test.each<[string, (ran: string[]) => BaseAgent, readonly string[]]>([
  [
    'agents side by side',
    (ran) => new ParallelAgent({ name: 'both', subAgents: [buying('a', ran, ['a1']), buying('b', ran, ['b1'])] }),
    ['a1', 'b1'],
  ],
  [
    'two calls of an agent',
    (ran) => new SequentialAgent({ name: 'one', subAgents: [buying('a', ran, ['a1', 'a2'])] }),
    ['a1', 'a2'],
  ],
  [
    'agents that agents call',
    (ran) =>
      new ParallelAgent({
        name: 'both',
        subAgents: ['a', 'b'].map((name) => {
          const inner = buying(`${name}-inner`, ran, [`${name}1`]);
          const model = new ScriptedModel([{ calls: [{ name: inner.name, args: { request: 'x' } }] }, 'Done.']);
          return new LlmAgent({ name, model, tools: [new AgentTool({ agent: inner })] });
        }),
      }),
    ['a1', 'b1'],
  ],
  [
    'workflows side by side',
    (ran) => new ParallelAgent({ name: 'both', subAgents: [asksAndEnds('x', ran), asksAndEnds('y', ran)] }),
    ['x', 'y'],
  ],
  [
    'workflows one after the other',
    (ran) => new SequentialAgent({ name: 'all', subAgents: [asksAndEnds('x', ran), asksAndEnds('y', ran)] }),
    ['x', 'y'],
  ],
])(
  'a node with an agent that runs others is done once all questions are answered: of %s',
  async (_title, agentOf, all) => {
    const { ran, looseEnds } = await answerEach(agentOf);
    expect(ran).toEqual([...all, 'last']);
    expect(looseEnds).toEqual([]);
  },
);

class Asking extends BaseAgent {
  readonly #ran: string[];

  constructor(name: string, ran: string[]) {
    super({ name });
    this.#ran = ran;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    if ((yield* requestInput(context, { message: '?' })) !== undefined) this.#ran.push(this.name);
  }
}

test('nodes with agents of programs that ask side by side each get their answer', async () => {
  const { ran, looseEnds } = await answerEach((ran) => {
    const asking = [new Asking('x', ran), new Asking('y', ran)];
    return new Workflow({ name: 'both', edges: [['START', asking, new JoinNode({ name: 'join' })]] });
  });
  expect(ran).toEqual(['x', 'y', 'last']);
  expect(looseEnds).toEqual([]);
});

const withWorkflow = (buys: BaseAgent, fails: () => Promise<number>) => {
  const edges: EdgeItem[] = [['START', [buys, node(fails, { name: 'f' })], new JoinNode({ name: 'join' })]];
  return new Workflow({ name: 'x', edges });
};
const withGraph = (buys: BaseAgent, fails: () => Promise<number>) =>
  new StateGraph({ name: 'x' })
    .addNode('a', buys)
    .addNode('f', fails)
    .addEdge(START, 'a')
    .addEdge(START, 'f')
    .addEdge('a', END)
    .addEdge('f', END)
    .compile();
const withParallelAgent = (buys: BaseAgent, fails: () => Promise<number>) => {
  class Failing extends BaseAgent {
    protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
      yield* [];
      await fails();
    }
  }
  return new ParallelAgent({ name: 'x', subAgents: [buys, new Failing({ name: 'f' })] });
};

test.each([
  ['before', 'workflow', withWorkflow],
  ['after', 'workflow', withWorkflow],
  // The nodes of a graph commit in turn, so that the question is asked after the failure.
  ['before', 'graph', withGraph],
  ['after', 'ParallelAgent', withParallelAgent],
] as const)('a retried node whose attempt failed %s a question takes the answer: %s', async (when, _title, agentOf) => {
  let isFirst = true;
  const { promise: asked, resolve } = Promise.withResolvers<undefined>();
  const questions = new Set<string>();
  const fails = async () => {
    if (!isFirst) return 1;
    isFirst = false;
    if (when === 'after') await asked;
    throw new TypeError('broken once');
  };
  const { ran, looseEnds } = await answerEach(
    (running) =>
      node(agentOf(buying('a', running, ['a1']), fails), { retryConfig: { maxAttempts: 3, initialDelay: 0 } }),
    {
      // The agent waits once the response that says so is stored.
      onEvent: (event) => {
        if (getFunctionResponses(event).some(({ name }) => name === 'buy')) resolve(undefined);
        for (const id of event.longRunningToolIds ?? []) questions.add(id);
      },
    },
  );
  expect(ran).toEqual(['a1', 'last']);
  expect(questions.size).toBe(1);
  expect(looseEnds).toEqual([]);
});

test.each([1, 2, 3])(
  'a retried node fails after %i attempts, also if its failures wait for answers',
  async (maxAttempts) => {
    let failures = 0;
    const { promise: asked, resolve } = Promise.withResolvers<undefined>();
    const fails = async () => {
      await asked;
      failures++;
      throw new TypeError('broken');
    };
    const answering = answerEach(
      (ran) => node(withWorkflow(buying('a', ran, ['a1']), fails), { retryConfig: { maxAttempts, initialDelay: 0 } }),
      { onEvent: (event) => (getFunctionResponses(event).length > 0 ? resolve(undefined) : undefined) },
    );
    await expect(answering).rejects.toThrow('broken');
    expect(failures).toBe(maxAttempts);
  },
);

test('a retried node whose failed attempt cancelled its question asks again', async () => {
  let isFirst = true;
  const { promise: asked, resolve } = Promise.withResolvers<undefined>();
  const fails = async () => {
    if (!isFirst) return 1;
    isFirst = false;
    await asked;
    throw new TypeError('broken once');
  };
  const { ran, looseEnds } = await answerEach(
    (running) => {
      const graph = new StateGraph({ name: 'g' })
        .addNode('both', (_: unknown, context) =>
          context.runNode(withParallelAgent(buying('a', running, ['a1']), fails), 'go'),
        )
        .addEdge(START, 'both')
        .addEdge('both', END)
        .compile();
      return node(graph, { retryConfig: { maxAttempts: 3, initialDelay: 0 } });
    },
    { onEvent: (event) => (event.longRunningToolIds?.length ? resolve(undefined) : undefined) },
  );
  expect(ran).toEqual(['a1', 'last']);
  expect(looseEnds).toEqual([]);
});

test.each([
  ['first', 'none'],
  ['last', 'none'],
  ['first', 'default'],
  ['last', 'default'],
] as const)(
  'an agent in a node waits for an agent that it calls beside a tool that asks, if the %s question is answered first, with includeContents: %s',
  async (order, includeContents) => {
    const { ran, looseEnds } = await answerEach(
      (running) => {
        const inner = buying('inner', running, ['i1']);
        const calls = [
          { id: 'c1', name: 'inner', args: { request: 'x' } },
          { id: 'c2', name: 'buy' },
        ];
        const [buy] = buying('a', running, []).tools;
        const tools = [new AgentTool({ agent: inner }), ...(buy ? [buy] : [])];
        return new LlmAgent({ name: 'a', model: new ScriptedModel([{ calls }, 'Done.']), tools, includeContents });
      },
      { order },
    );
    expect(ran).toEqual([...(order === 'first' ? ['i1', 'c2'] : ['c2', 'i1']), 'last']);
    expect(looseEnds).toEqual([]);
  },
);

test('a node that runs others side by side waits until all of their questions are asked and answered', async () => {
  const { ran, looseEnds } = await answerEach((ran) => {
    const asks = node(() => new RequestInput({ interruptId: 'q' }), { name: 'asks' });
    const buys = buying('buys', ran, ['b1']);
    const work = async (context: NodeContext) => {
      await Promise.all([context.runNode(asks), context.runNode(buys, 'go')]);
    };
    return node(work, { name: 'both', rerunOnResume: true });
  });
  expect(ran).toEqual(['b1', 'last']);
  expect(looseEnds).toEqual([]);
});

test('an agent whose call was cancelled when the time of its node was up ends after the answer to another question', async () => {
  const platform = fixedPlatform();
  const wait = new LongRunningFunctionTool({ name: 'wait', description: 'Waits.', execute: () => undefined });
  const gate = new Gate();
  const slow = new FunctionTool({ name: 'slow', description: 'Slow.', execute: () => gate.pass() });
  const model = new ScriptedModel([{ calls: [{ name: 'wait' }, { name: 'slow' }] }, 'Done.']);
  const works = new LlmAgent({ name: 'works', model, tools: [wait, slow] });
  const asks = node(() => new RequestInput({ interruptId: 'q' }), { name: 'asks' });
  const work = async (context: NodeContext) => {
    await Promise.all([context.runNode(asks), context.runNode(works, 'go')]);
  };
  const both = node(work, { name: 'both', rerunOnResume: true, timeout: 1 });
  const end = node(() => 'end', { name: 'end' });
  const agent = new Workflow({ name: 'w', edges: [['START', both, end]] });
  const sessionService = new InMemorySessionService({ platform });
  const runner = new Runner({ agent, appName: 'app', platform, sessionService });
  await sessionService.createSession(KEY);
  const send = (part: Part) => runner.run({ userId: 'u', sessionId: 's', newMessage: { role: 'user', parts: [part] } });
  const asking = send({ text: 'go' });
  await gate.reached;
  platform.advance(2000);
  await asking;
  expect(outputsOf(await send(answer('q', { result: 1 }))).at(-1)).toBe('end');
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
});
