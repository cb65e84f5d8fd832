import { BaseAgent, contentText, type Event, getFunctionResponses, type InvocationContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { Runner, type RunnerConfig } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  append,
  channel,
  DEFAULT_ROUTE,
  END,
  type GraphAgent,
  node,
  type NodeContext,
  START,
  StateGraph,
} from './index.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const IDS = { userId: 'u', sessionId: 's' };

async function setUp(agent: RunnerConfig['agent'], state: Record<string, unknown> = {}) {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ ...KEY, state });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform() });
  const say = (text: string, streamingMode: 'none' | 'sse' = 'none') =>
    runner.run({ ...IDS, newMessage: { parts: [{ text }] }, runConfig: { streamingMode } });
  const session = () => sessionService.getSession(KEY);
  return { say, session };
}

const llm = (name: string, steps: ScriptedStep[], config: object = {}) =>
  new LlmAgent({ name, model: new ScriptedModel(steps), ...config });
const texts = (events: readonly Event[]): string[] =>
  events.flatMap(({ author, content }) => (content ? [`${author}: ${contentText(content)}`] : []));

/** A graph of one function. */
function single(name: string, work: (input: string) => unknown): GraphAgent {
  return new StateGraph({ name })
    .addNode(`${name}_work`, (input: string) => work(input))
    .addEdge(START, `${name}_work` as never)
    .addEdge(`${name}_work` as never, END)
    .compile();
}

test('agents in nodes are told the output before them, and say their last words once', async () => {
  const model = new ScriptedModel(['a poem']);
  const agent = new StateGraph({ name: 'g' })
    .addNode('topic', (input: string) => `about ${input}`)
    .addNode('writer', new LlmAgent({ name: 'writer', model }))
    .addNode('critic', llm('critic', ['not bad']))
    .addEdge(START, 'topic')
    .addEdge('topic', 'writer')
    .addEdge('writer', 'critic')
    .addEdge('critic', END)
    .compile();
  const { say, session } = await setUp(agent);
  const events = await say('rain');
  expect(model.requests[0]?.request.contents.at(-1)).toEqual({ role: 'user', parts: [{ text: 'about rain' }] });
  expect(texts(events)).toEqual(['writer: a poem', 'critic: not bad']);
  // Outside of the nodes it stands in the history once as well.
  const outside = (await session())?.events.filter(({ branch }) => branch === undefined) ?? [];
  expect(texts(outside)).toEqual(['user: rain', 'writer: a poem', 'critic: not bad']);
});

test('chunks of an agent in a node come as they are made, and merge into what the node says', async () => {
  const { say } = await setUp(
    new StateGraph({ name: 'g' })
      .addNode('writer', llm('writer', [{ chunks: ['a ', 'poem'] }]))
      .addEdge(START, 'writer')
      .addEdge('writer', END)
      .compile(),
  );
  const spoken = (await say('rain', 'sse')).filter(({ content }) => content);
  expect(spoken.map(({ partial, content }) => [partial, contentText(content)])).toEqual([
    [true, 'a '],
    [true, 'poem'],
    [undefined, 'a poem'],
  ]);
  expect(new Set(spoken.map(({ responseId }) => responseId)).size).toBe(1);
});

test('what an agent in a node says while it calls tools is passed on, and its state counts', async () => {
  const look = new FunctionTool({ name: 'look', description: '', execute: () => ({ seen: 1 }) });
  const agent = new StateGraph({ name: 'g' })
    .addNode('writer', llm('writer', [{ calls: [{ name: 'look' }] }, 'done'], { tools: [look], outputKey: 'draft' }))
    .addEdge(START, 'writer')
    .addEdge('writer', END)
    .compile();
  const { say, session } = await setUp(agent);
  const events = await say('x');
  expect(events.flatMap(getFunctionResponses).map(({ name }) => name)).toEqual(['look']);
  expect(events.some(({ actions }) => actions.stateDelta['draft'] === 'done')).toBe(true);
  expect((await session())?.state).toEqual({ draft: 'done' });
});

test('an agent with an output schema gives a value', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('judge', llm('judge', ['{"score":7}'], { outputSchema: z.object({ score: z.number() }) }))
    .addNode('double', (input: { score: number }) => input.score * 2)
    .addEdge(START, 'judge')
    .addEdge('judge', 'double')
    .addEdge('double', END)
    .compile();
  const { say } = await setUp(agent);
  expect(texts(await say('x')).at(-1)).toBe('g: 14');
});

test('a channel with a key of the session is what the session has, and instructions can name it', async () => {
  const model = new ScriptedModel(['ok']);
  const agent = new StateGraph({
    name: 'g',
    channels: { mood: channel(z.string(), { stateKey: 'mood' }), own: channel(z.string()) },
  })
    .addNode(
      'note',
      (_: string, context) => context.update({ mood: `${context.state.mood}, then good`, own: 'hidden' }),
      { writes: ['mood', 'own'] },
    )
    .addNode('writer', new LlmAgent({ name: 'writer', model, instruction: 'Mood: {mood}. Own: {own?}.' }))
    .addEdge(START, 'note')
    .addEdge('note', 'writer')
    .addEdge('writer', END)
    .compile();
  const { say, session } = await setUp(agent, { mood: 'bad' });
  await say('x');
  expect(JSON.stringify(model.requests[0]?.request.config)).toContain('Mood: bad, then good. Own: .');
  expect((await session())?.state).toEqual({ mood: 'bad, then good' });
});

test('channels begin at their default in each run of the graph', async () => {
  const agent = new StateGraph({ name: 'g', channels: { count: channel(z.number(), { default: 5 }) } })
    .addNode('add', (_: string, context) => context.update({ count: context.state.count + 1 }), { writes: ['count'] })
    .addNode('tell', (_: unknown, context) => context.state.count)
    .addEdge(START, 'add')
    .addEdge('add', 'tell')
    .addEdge('tell', END)
    .compile();
  const { say } = await setUp(agent);
  expect([texts(await say('x')), texts(await say('x'))]).toEqual([['g: 6'], ['g: 6']]);
});

test('what a channel does not take is an error that names the node, and what nodes read cannot be changed', async () => {
  const errors: unknown[] = [];
  const agent = new StateGraph({ name: 'g', channels: { list: channel(z.array(z.number()), { default: [1] }) } })
    .addNode(
      'bad',
      (_: string, context) => {
        try {
          context.state.list.push(2);
        } catch (error) {
          errors.push(error);
        }
        context.update({ list: ['x'] as never });
      },
      { writes: ['list'] },
    )
    .addEdge(START, 'bad')
    .addEdge('bad', END)
    .compile();
  const { say } = await setUp(agent);
  await expect(say('x')).rejects.toThrow(/node "bad": the channel "list"/);
  expect(errors).toMatchObject([{ name: 'TypeError' }]);
});

test('a node that writes a channel that it does not name is an error that says so', async () => {
  const agent = new StateGraph({ name: 'g', channels: { list: channel(z.number()) } })
    .addNode('bad', (_: string, context) => context.update({ list: 1 } as never))
    .addEdge(START, 'bad')
    .addEdge('bad', END)
    .compile();
  const { say } = await setUp(agent);
  await expect(say('x')).rejects.toThrow(/node "bad".*"list".*writes/);
});

test('routes are taken as the node sets them, and the default one when it sets another', async () => {
  for (const [text, expected] of [
    ['left', 'went left'],
    ['up', 'went elsewhere'],
    ['', 'went elsewhere'],
  ]) {
    const agent = new StateGraph({ name: 'g' })
      .addNode('choose', (input: string, context) => {
        context.route = input === '-' ? undefined : input;
      })
      .addNode('left', () => 'went left')
      .addNode('other', () => 'went elsewhere')
      .addEdge(START, 'choose')
      .addRoutes('choose', { left: 'left', [DEFAULT_ROUTE]: 'other' })
      .addEdge('left', END)
      .addEdge('other', END)
      .compile();
    const { say } = await setUp(agent);
    expect(texts(await say(text || '-'))).toEqual([`g: ${expected}`]);
  }
});

test('a route that there is not is an error that names the node', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addConditionalEdges('a', () => 'up' as never, { left: END, right: END })
    .compile();
  const { say } = await setUp(agent);
  await expect(say('x')).rejects.toThrow(/node "a".*"up".*left, right/);
});

test('a graph stands in sequences, loops and beside others', async () => {
  let rounds = 0;
  const agent = new SequentialAgent({
    name: 'seq',
    subAgents: [
      single('one', () => 1),
      new ParallelAgent({ name: 'par', subAgents: [single('two', () => 2), single('three', () => 3)] }),
      new LoopAgent({ name: 'loop', maxIterations: 2, subAgents: [single('four', () => ++rounds)] }),
    ],
  });
  const { say } = await setUp(agent);
  expect(texts(await say('x')).toSorted()).toEqual(['four: 1', 'four: 2', 'one: 1', 'three: 3', 'two: 2']);
});

test('a graph is called as a tool, with arguments by its schema', async () => {
  const graph = new StateGraph({
    name: 'adder',
    description: 'Adds.',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
  })
    .addNode('add', (input: { a: number; b: number }) => ({ sum: input.a + input.b }))
    .addEdge(START, 'add')
    .addEdge('add', END)
    .compile();
  const root = llm('root', [{ calls: [{ name: 'adder', args: { a: 2, b: 3 } }] }, 'it is five'], {
    tools: [new AgentTool({ agent: graph })],
  });
  const { say } = await setUp(root);
  const events = await say('2 and 3');
  expect(events.flatMap(getFunctionResponses)[0]?.response).toEqual({ sum: 5 });
});

test('an input that does not fit the graph is refused', async () => {
  const graph = new StateGraph({ name: 'g', inputSchema: z.object({ a: z.number() }) })
    .addNode('n', () => 1)
    .addEdge(START, 'n')
    .addEdge('n', END)
    .compile();
  const { say } = await setUp(graph);
  await expect(say('{"a":"x"}')).rejects.toThrow(/graph "g": its input does not fit/);
});

test('a model hands over to a graph, and a node of a graph to an agent', async () => {
  const helper = llm('helper', ['helped']);
  const graph = new StateGraph({ name: 'flow', subAgents: [helper] })
    .addNode('decide', (_: string, context) => {
      context.callbackContext.actions.transferToAgent = 'helper';
    })
    .addNode('never', () => 'never')
    .addEdge(START, 'decide')
    .addEdge('decide', 'never')
    .addEdge('never', END)
    .compile();
  const root = llm('root', [{ calls: [{ name: 'transfer_to_agent', args: { agent_name: 'flow' } }] }], {
    subAgents: [graph],
  });
  const { say } = await setUp(root);
  const events = await say('x');
  expect(texts(events).at(-1)).toBe('helper: helped');
  expect(events.some(({ author }) => author === 'never')).toBe(false);
});

test('an agent in a node hands over below it, and the one that ends gives the output', async () => {
  const expert = llm('expert', ['expert answer']);
  const front = llm('front', [{ calls: [{ name: 'transfer_to_agent', args: { agent_name: 'expert' } }] }], {
    subAgents: [expert],
  });
  const graph = new StateGraph({ name: 'flow' })
    .addNode('front', front)
    .addNode('tell', (input: string) => `<${input}>`)
    .addEdge(START, 'front')
    .addEdge('front', 'tell')
    .addEdge('tell', END)
    .compile();
  const { say } = await setUp(graph);
  expect(texts(await say('x')).at(-1)).toBe('flow: <expert answer>');
});

test('an agent that fails in a node fails the graph, or is tried again', async () => {
  const agent = (retry?: { maxAttempts: number; initialDelayMs: number }) =>
    new StateGraph({ name: 'g' })
      .addNode('writer', llm('writer', [new TypeError('no model'), 'second time']), retry ? { retry } : {})
      .addEdge(START, 'writer')
      .addEdge('writer', END)
      .compile();
  await expect((await setUp(agent())).say('x')).rejects.toThrow(/no model/);
  expect(texts(await (await setUp(agent({ maxAttempts: 2, initialDelayMs: 0 }))).say('x')).at(-1)).toBe(
    'writer: second time',
  );
});

test('a sub-graph has channels of its own, and several runs of it side by side do not meet', async () => {
  const sub = new StateGraph({ name: 'sub', channels: { seen: channel(z.string(), { default: '' }) } })
    .addNode('note', (input: string, context) => context.update({ seen: input }), { writes: ['seen'] })
    .addNode('tell', (_: unknown, context) => context.state.seen)
    .addEdge(START, 'note')
    .addEdge('note', 'tell')
    .addEdge('tell', END)
    .compile();
  const agent = new StateGraph({ name: 'g' })
    .addNode('all', (_: string, context) => Promise.all(['a', 'b', 'c'].map((each) => context.runNode(sub, each))))
    .addEdge(START, 'all')
    .addEdge('all', END)
    .compile();
  const { say } = await setUp(agent);
  expect(texts(await say('x')).at(-1)).toBe('g: ["a","b","c"]');
});

test('closing a graph closes what its nodes hold, all that can be', async () => {
  const closed: string[] = [];
  class Held extends FunctionTool {
    override async close(): Promise<void> {
      closed.push(this.name);
    }
  }
  class Broken extends Held {
    override async close(): Promise<void> {
      await super.close();
      throw new RangeError('open');
    }
  }
  const closing = new StateGraph({ name: 'g' })
    .addNode('broken', new Broken({ name: 'broken', description: '', execute: () => 1 }))
    .addNode('held', new Held({ name: 'held', description: '', execute: () => 1 }))
    .addEdge(START, 'broken')
    .addEdge('broken', 'held')
    .addEdge('held', END)
    .compile()
    .close();
  await expect(closing).rejects.toThrow('open');
  expect(closed).toEqual(['broken', 'held']);
});

test('a node that another one runs writes the channels that this one may write', async () => {
  const log = channel(z.array(z.string()), { reducer: append, default: [] });
  const inner = node('inner', (input: string, context: NodeContext<object, { log: string[] }>) =>
    context.update({ log: [input] }),
  );
  const graph = (writes: readonly 'log'[]) =>
    new StateGraph({ name: 'g', channels: { log } })
      .addNode(
        'outer',
        async (_: string, context) => void (await Promise.all(['a', 'b'].map((each) => context.runNode(inner, each)))),
        { writes },
      )
      .addNode('tell', (_: unknown, context) => context.state.log)
      .addEdge(START, 'outer')
      .addEdge('outer', 'tell')
      .addEdge('tell', END)
      .compile();
  expect(texts(await (await setUp(graph(['log']))).say('x'))).toEqual(['g: ["a","b"]']);
  await expect((await setUp(graph([]))).say('x')).rejects.toThrow(/node "inner".*"log"/);
});

test('a node that is run twice with one key is an error that says so', async () => {
  const inner = node('inner', (input: string) => input);
  const graph = new StateGraph({ name: 'g' })
    .addNode('outer', async (_: string, context) => {
      await context.runNode(inner, 'a', { key: 'k' });
      return context.runNode(inner, 'b', { key: 'k' });
    })
    .addEdge(START, 'outer')
    .addEdge('outer', END)
    .compile();
  await expect((await setUp(graph)).say('x')).rejects.toThrow(/node "outer": runs "inner" twice with the key "k"/);
});

test.each([
  [
    'reducer',
    {
      fails: true,
      reducer: () => {
        throw new TypeError('broken');
      },
    },
  ],
  ['router', { fails: false, reducer: (_: unknown, update: number) => update }],
])('what a %s throws is the failure of the node, by its name', async (_, { fails, reducer }) => {
  const agent = new StateGraph({ name: 'g', channels: { sum: channel(z.number(), { reducer }) } })
    .addNode('add', (_input: string, context) => context.update({ sum: 1 }), { writes: ['sum'] })
    .addEdge(START, 'add')
    .addConditionalEdges(
      'add',
      () => {
        if (!fails) throw new TypeError('broken');
        return 'on';
      },
      { on: END },
    )
    .compile();
  await expect((await setUp(agent)).say('x')).rejects.toMatchObject({ code: 'NODE', message: 'node "add": broken' });
});

test('an answer that was cut off is no answer: the node failed', async () => {
  class CutOff extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const content = { role: 'model', parts: [{ text: 'half of' }] };
      yield context.createEvent({ content, errorCode: 'MAX_TOKENS', errorMessage: 'too long' });
    }
  }
  const agent = new StateGraph({ name: 'g' })
    .addNode('writer', new CutOff({ name: 'cut_off' }))
    .addEdge(START, 'writer')
    .addEdge('writer', END)
    .compile();
  await expect((await setUp(agent)).say('x')).rejects.toMatchObject({
    code: 'NODE',
    message: 'node "writer": too long',
  });
});

test.each([false, true])('what nodes tell is told at once under a tool too, streamInner: %s', async (streamInner) => {
  const gate = new Gate();
  const taken: boolean[] = [];
  const graph = new StateGraph({ name: 'graph' })
    .addNode('work', async (_: string, context) => {
      taken.push(await context.emitProgress(40, 'reading'));
      await gate.pass();
      return 'done';
    })
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ nodeLifecycleEvents: true });
  const tools = [new AgentTool({ agent: graph, streamInner })];
  const agent = llm('caller', [{ calls: [{ name: 'graph', args: { request: 'x' } }] }, 'fine'], { tools });
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform() });
  const told: unknown[] = [];
  for await (const { author, nodeEvent } of runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } })) {
    if (nodeEvent) told.push([author, nodeEvent.eventType]);
    // The node waits: what it told is here before it is done.
    if (nodeEvent?.progress === 40) gate.open();
  }
  expect(told).toEqual(['start', 'progress', 'complete'].map((type) => ['work', type]));
  expect(taken).toEqual([true]);
  expect((await sessionService.getSession(KEY))?.events.some(({ nodeEvent }) => nodeEvent)).toBe(false);
});

test('what nodes of a graph tell that is a tool of a node is told as well', async () => {
  const told = new StateGraph({ name: 'told' })
    .addNode('deep', (_: string, context) => void context.emitText('so far'))
    .addEdge(START, 'deep')
    .addEdge('deep', END)
    .compile();
  const agent = new StateGraph({ name: 'g' })
    .addNode('ask', (text: string) => ({ request: text }))
    .addNode('told', new AgentTool({ agent: told }))
    .addEdge(START, 'ask')
    .addEdge('ask', 'told')
    .addEdge('told', END)
    .compile();
  const events = await (await setUp(agent)).say('x');
  expect(events.flatMap(({ nodeEvent }) => nodeEvent?.message ?? [])).toEqual(['so far']);
});

test('what a node tells does not wait for what may be the last words of an agent before it', async () => {
  const gate = new Gate();
  const graph = new StateGraph({ name: 'graph' })
    .addNode('writer', llm('writer', [{ chunks: ['a ', 'poem'] }]))
    .addNode('after', async (_: unknown, context) => {
      void context.emitText('reading it');
      await gate.pass();
      return 'done';
    })
    .addEdge(START, 'writer')
    .addEdge('writer', 'after')
    .addEdge('after', END)
    .compile();
  const tools = [new AgentTool({ agent: graph, streamInner: true })];
  const agent = llm('caller', [{ calls: [{ name: 'graph', args: { request: 'x' } }] }, 'fine'], { tools });
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform() });
  const runConfig = { streamingMode: 'sse' } as const;
  let told = 0;
  for await (const { nodeEvent } of runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'hi' }] }, runConfig })) {
    if (!nodeEvent) continue;
    told++;
    gate.open();
  }
  expect(told).toBe(1);
});
