import { BaseAgent, contentText, type Event, getFunctionResponses, type InvocationContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { channel, END, START, StateGraph } from './index.ts';
import { linesOf } from './fixtures/read-output.ts';
import { scenario, scripted } from '../../runner/src/fixtures/scenario.ts';

test('an agent node gets the previous output, and its answer is emitted once', async () => {
  const model = new ScriptedModel(['a poem']);
  const agent = new StateGraph({ name: 'g' })
    .addNode('topic', (input: string) => `about ${input}`)
    .addNode('writer', new LlmAgent({ name: 'writer', model }))
    .addNode('critic', scripted('critic', ['not bad']))
    .addEdge(START, 'topic')
    .addEdge('topic', 'writer')
    .addEdge('writer', 'critic')
    .addEdge('critic', END)
    .compile();
  const { run, session } = await scenario({ agent });
  const events = await run('rain');
  expect(model.requests[0]?.request.contents.at(-1)).toEqual({ role: 'user', parts: [{ text: 'about rain' }] });
  expect(linesOf(events)).toEqual(['writer: a poem', 'critic: not bad']);
  // Outside the nodes the history has the answer once, too.
  const outside = (await session()).events.filter(({ branch }) => branch === undefined) ?? [];
  expect(linesOf(outside)).toEqual(['user: rain', 'writer: a poem', 'critic: not bad']);
});

test('the event of a node names the event with the answer of its agent, also through a graph in a graph', async () => {
  const inner = new StateGraph({ name: 'inner' })
    .addNode('writer', scripted('writer', ['a poem']))
    .addEdge(START, 'writer')
    .addEdge('writer', END)
    .compile();
  const shout = new StateGraph({ name: 'shout' })
    .addNode('up', (text: string) => text.toUpperCase())
    .addEdge(START, 'up')
    .addEdge('up', END)
    .compile();
  const agent = new StateGraph({ name: 'g' })
    .addNode('first', inner)
    .addNode('second', shout)
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .addEdge('second', END)
    .compile();
  const { run, session } = await scenario({ agent });
  await run('rain');
  const said = (await session()).events.filter(({ content, object }) => content && object !== 'agent.input');
  const names = new Map(said.map(({ id }, index) => [id, index]));
  expect(said.map((event) => [linesOf([event])[0], names.get(event.responseId ?? '')])).toEqual([
    ['user: rain', undefined],
    ['writer: a poem', undefined],
    ['writer: a poem', 1],
    ['first: a poem', 1],
    ['shout: A POEM', undefined],
    ['second: A POEM', 4],
  ]);
});

test("chunks of an agent node are streamed immediately and merge into the node's content", async () => {
  const { run } = await scenario({
    agent: new StateGraph({ name: 'g' })
      .addNode('writer', scripted('writer', [{ chunks: ['a ', 'poem'] }]))
      .addEdge(START, 'writer')
      .addEdge('writer', END)
      .compile(),
  });
  const spoken = (await run('rain', { runConfig: { streamingMode: 'sse' } })).filter(({ content }) => content);
  expect(spoken.map(({ partial, content }) => [partial, contentText(content)])).toEqual([
    [true, 'a '],
    [true, 'poem'],
    [undefined, 'a poem'],
  ]);
  expect(new Set(spoken.map(({ responseId }) => responseId)).size).toBe(1);
});

test('text that an agent node writes beside tool calls is passed on, and its state changes apply', async () => {
  const look = new FunctionTool({ name: 'look', description: '', execute: () => ({ seen: 1 }) });
  const agent = new StateGraph({ name: 'g' })
    .addNode(
      'writer',
      scripted('writer', [{ calls: [{ name: 'look' }] }, 'done'], { tools: [look], outputKey: 'draft' }),
    )
    .addEdge(START, 'writer')
    .addEdge('writer', END)
    .compile();
  const { run, session } = await scenario({ agent });
  const events = await run('x');
  expect(events.flatMap(getFunctionResponses).map(({ name }) => name)).toEqual(['look']);
  expect(events.some(({ actions }) => actions.stateDelta['draft'] === 'done')).toBe(true);
  expect((await session()).state).toEqual({ draft: 'done' });
});

test('the error of a node whose agent would have to wait names the call that waits, and not one beside it', async () => {
  const look = new FunctionTool({ name: 'look', description: '', execute: () => ({ seen: 1 }) });
  const later = new LongRunningFunctionTool({ name: 'later', description: '', execute: () => undefined });
  const calls = [{ name: 'look' }, { name: 'later' }];
  const agent = new StateGraph({ name: 'g' })
    .addNode('writer', scripted('writer', [{ calls }], { tools: [look, later] }))
    .addEdge(START, 'writer')
    .addEdge('writer', END)
    .compile();
  const { run } = await scenario({ agent });
  await expect(run('x')).rejects.toThrow('waits for the result of "later"');
});

test('an agent node with an output schema returns the parsed value', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('judge', scripted('judge', ['{"score":7}'], { outputSchema: z.object({ score: z.number() }) }))
    .addNode('double', (input: { score: number }) => input.score * 2)
    .addEdge(START, 'judge')
    .addEdge('judge', 'double')
    .addEdge('double', END)
    .compile();
  const { run } = await scenario({ agent });
  expect(linesOf(await run('x')).at(-1)).toBe('g: 14');
});

test('an agent node may transfer to a sub-agent, and the last agent gives the output', async () => {
  const expert = scripted('expert', ['expert answer']);
  const front = scripted('front', [{ calls: [{ name: 'transfer_to_agent', args: { agent_name: 'expert' } }] }], {
    subAgents: [expert],
  });
  const graph = new StateGraph({ name: 'flow' })
    .addNode('front', front)
    .addNode('tell', (input: string) => `<${input}>`)
    .addEdge(START, 'front')
    .addEdge('front', 'tell')
    .addEdge('tell', END)
    .compile();
  const { run } = await scenario({ agent: graph });
  expect(linesOf(await run('x')).at(-1)).toBe('flow: <expert answer>');
});

test('a failed agent node fails the graph, or is retried', async () => {
  const agent = (retry?: { maxAttempts: number; initialDelayMs: number }) =>
    new StateGraph({ name: 'g' })
      .addNode('writer', scripted('writer', [new TypeError('no model'), 'second time']), retry ? { retry } : {})
      .addEdge(START, 'writer')
      .addEdge('writer', END)
      .compile();
  await expect((await scenario({ agent: agent() })).run('x')).rejects.toThrow(/no model/);
  expect(linesOf(await (await scenario({ agent: agent({ maxAttempts: 2, initialDelayMs: 0 }) })).run('x')).at(-1)).toBe(
    'writer: second time',
  );
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
])('an error thrown by a %s fails the node with an error that names it', async (_, { fails, reducer }) => {
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
  await expect((await scenario({ agent })).run('x')).rejects.toMatchObject({
    code: 'NODE',
    message: 'node "add": broken',
  });
});

test('an agent node fails when its answer was truncated', async () => {
  class Interrupted extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const content = { role: 'model', parts: [{ text: 'half of' }] };
      yield context.createEvent({ content, errorCode: 'MAX_TOKENS', errorMessage: 'too long' });
    }
  }
  const agent = new StateGraph({ name: 'g' })
    .addNode('writer', new Interrupted({ name: 'cut_off' }))
    .addEdge(START, 'writer')
    .addEdge('writer', END)
    .compile();
  await expect((await scenario({ agent })).run('x')).rejects.toMatchObject({
    code: 'NODE',
    message: 'node "writer": too long',
  });
});
