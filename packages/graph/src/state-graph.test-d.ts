import { LlmAgent } from '@eventloom/llm-agent';
import { FunctionTool } from '@eventloom/tools';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  type AnyNodes,
  append,
  channel,
  type ChannelUpdates,
  type Channels,
  DEFAULT_ROUTE,
  END,
  node,
  type NodeContext,
  START,
  StateGraph,
} from './index.ts';

const channels = {
  draft: channel(z.string()),
  notes: channel(z.array(z.string()), { reducer: append, default: [] }),
  sum: channel(z.number(), {
    default: 0,
    reducer: (current: number | undefined, update: string) => (current ?? 0) + Number(update),
  }),
};

test('channels have the input and output types of their schemas and reducers', () => {
  new StateGraph({ name: 'g', channels }).addNode(
    'write',
    (_input: string, context) => {
      expectTypeOf(context.state.draft).toEqualTypeOf<string | undefined>();
      expectTypeOf(context.state.notes).toEqualTypeOf<string[]>();
      expectTypeOf(context.state.sum).toEqualTypeOf<number>();
      context.update({ draft: 'x', sum: '3' });
      // @ts-expect-error -- the channel is written as text
      context.update({ sum: 3 });
      // @ts-expect-error -- it does not say that it writes this one
      context.update({ notes: ['x'] });
      // @ts-expect-error -- state is read-only
      context.state.draft = 'y';
    },
    { writes: ['draft', 'sum'] },
  );
});

test('a node without writes cannot write channels', () => {
  const graph = new StateGraph({ name: 'g', channels });
  graph.addNode('a', (_: string, context) => {
    // @ts-expect-error -- it does not say that it writes this one
    context.update({ draft: 'x' });
    // @ts-expect-error -- no such channel
    context.update({ darft: 'x' });
  });
  graph.addNode(
    'b',
    (_: string, context) => {
      // @ts-expect-error -- it does not say that it writes this one
      context.update({ draft: 'x' });
    },
    { timeoutMs: 5 },
  );
  graph.addJoin('c', (_, context) => {
    // @ts-expect-error -- it does not say that it writes this one
    context.update({ draft: 'x' });
  });
});

test('writing an unknown channel is a type error', () => {
  // @ts-expect-error -- no such channel
  new StateGraph({ name: 'g', channels }).addNode('write', () => 1, { writes: ['darft'] });
});

test('the compiler reports wrong options at the options, and knows the parameters of the function', () => {
  const graph = new StateGraph({ name: 'g', channels });
  graph.addNode(
    'a',
    (input: string, context) => context.emitText(input),
    // @ts-expect-error -- the option is retry
    { retries: 3 },
  );
  expectTypeOf<
    ChannelUpdates<typeof channels, never>[string]
  >().toEqualTypeOf<'a channel that the node names in its option writes'>();
});

test('an edge to an unknown node is a type error', () => {
  const graph = new StateGraph({ name: 'g' }).addNode('a', () => 1).addJoin('j');
  graph.addEdge(START, 'a').addEdge('a', 'j').addEdge('j', END);
  // @ts-expect-error -- no such node
  graph.addEdge('a', 'b');
  // @ts-expect-error -- no such node
  graph.addEdge('b', END);
});

test("inputSchema types the function's argument, and outputSchema its result", () => {
  new StateGraph({ name: 'g' })
    .addNode(
      'a',
      (input) => {
        expectTypeOf(input).toEqualTypeOf<{ size: number }>();
        return { ok: 'yes' };
      },
      { inputSchema: z.object({ size: z.number() }), outputSchema: z.object({ ok: z.string() }) },
    )
    .addConditionalEdges(
      'a',
      (output) => {
        expectTypeOf(output).toEqualTypeOf<{ ok: string }>();
        return output.ok === 'yes' ? 'on' : 'off';
      },
      { on: END, off: END },
    )
    // @ts-expect-error -- a router names its routes
    .addConditionalEdges('a', () => 'other', { on: END });
});

test('runNode has the output type of the node it runs', () => {
  const double = node('double', (input: number) => input * 2);
  const tool = new FunctionTool({ name: 'tool', description: '', execute: () => 1 });
  new StateGraph({ name: 'g' }).addNode('a', async (_: string, context) => {
    expectTypeOf(await context.runNode(double, 2)).toEqualTypeOf<number>();
    expectTypeOf(await context.runNode(tool, {})).toEqualTypeOf<unknown>();
    // @ts-expect-error -- the node takes a number
    await context.runNode(double, 'x');
    const slow = node('slow', async (input: number) => `${input}`);
    expectTypeOf(await context.runNode(slow, 2)).toEqualTypeOf<string>();
    const writes = node('writes', (_: unknown, inner: NodeContext<{ n: number }, { n: number }>) => {
      inner.update({ n: inner.state.n + 1 });
    });
    await context.runNode(writes, null);
  });
});

test('node names are checked after agents and node() too', () => {
  const agent = new LlmAgent({ name: 'writer' });
  const graph = new StateGraph({ name: 'g' })
    .addNode('writer', agent)
    .addNode(node('count', (text: string) => text.length));
  graph.addEdge('writer', 'count');
  // @ts-expect-error -- no such node
  graph.addEdge('writter', 'count');
  graph.addConditionalEdges('count', (output) => (output > 2 ? 'on' : 'off'), { on: END, off: END });
  // @ts-expect-error -- an agent is added by a name
  graph.addNode(agent);
  // @ts-expect-error -- agents write no channels
  graph.addNode('other', agent, { writes: [] });
});

test('a duplicate or computed node name is a type error', () => {
  const graph = new StateGraph({ name: 'g' }).addNode('a', () => 1);
  // @ts-expect-error -- there is one
  graph.addNode('a', () => 2);
  // @ts-expect-error -- there is one
  graph.addJoin('a');
  // @ts-expect-error -- there is one
  graph.addNode(node('a', () => 2));
  // @ts-expect-error -- a computed name would hide all names from the compiler
  graph.addNode(String(Math.random()), () => 1);
});

test('a graph built in a loop needs no casts', () => {
  const graph = new StateGraph<Channels, AnyNodes>({ name: 'g' });
  for (const name of ['a', 'b'].concat()) graph.addNode(name, (input: number) => input).addEdge(START, name);
  graph.addConditionalEdges(String('a'), () => 'on', { on: END });
  graph.addNode('c', (_: unknown, context) => expectTypeOf(context.state['x']).toEqualTypeOf<unknown>());
});

test('a router may return any string if there is a DEFAULT_ROUTE', () => {
  const graph = new StateGraph({ name: 'g' }).addNode('a', (input: string) => input);
  graph.addConditionalEdges('a', (output) => output, { on: END, [DEFAULT_ROUTE]: 'a' });
  // @ts-expect-error -- the output is not one of the routes
  graph.addConditionalEdges('a', (output) => output, { on: END });
});

test('an answer has the output type of its schema', () => {
  new StateGraph({ name: 'g' }).addNode('a', async (_: string, context) => {
    expectTypeOf(await context.requestInput({ responseSchema: z.boolean() })).toEqualTypeOf<boolean>();
    expectTypeOf(await context.requestInput({ message: 'Well?' })).toEqualTypeOf<unknown>();
  });
});

test("a channel takes its schema's input type and gives its output type", () => {
  const size = channel(
    z.string().transform((text) => text.length),
    { default: '' },
  );
  // @ts-expect-error -- the schema takes a text
  channel(z.string().transform(Number), { default: 0 });
  new StateGraph({ name: 'g', channels: { size } }).addNode(
    'a',
    (_: string, context) => {
      expectTypeOf(context.state.size).toEqualTypeOf<number>();
      context.update({ size: 'four' });
      // @ts-expect-error -- the schema takes a text
      context.update({ size: 4 });
    },
    { writes: ['size'] },
  );
});
