import { FunctionTool } from '@eventloom/tools';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { append, channel, END, node, type NodeContext, START, StateGraph } from './index.ts';

const channels = {
  draft: channel(z.string()),
  notes: channel(z.array(z.string()), { reducer: append, default: [] }),
  sum: channel(z.number(), {
    default: 0,
    reducer: (current: number | undefined, update: string) => (current ?? 0) + Number(update),
  }),
};

test('channels are read and written as their schemas and reducers say', () => {
  new StateGraph({ name: 'g', channels }).addNode(
    'write',
    (_input: string, context) => {
      expectTypeOf(context.state.draft).toEqualTypeOf<string | undefined>();
      expectTypeOf(context.state.notes).toEqualTypeOf<string[]>();
      expectTypeOf(context.state.sum).toEqualTypeOf<number>();
      context.update({ draft: 'x', sum: '3' });
      // @ts-expect-error -- it is written as text
      context.update({ sum: 3 });
      // @ts-expect-error -- it does not say that it writes this one
      context.update({ notes: ['x'] });
      // @ts-expect-error -- to be written, not set
      context.state.draft = 'y';
    },
    { writes: ['draft', 'sum'] },
  );
});

test('a channel that there is not cannot be written', () => {
  // @ts-expect-error -- no such channel
  new StateGraph({ name: 'g', channels }).addNode('write', () => 1, { writes: ['darft'] });
});

test('edges lead between nodes that there are', () => {
  const graph = new StateGraph({ name: 'g' }).addNode('a', () => 1).addJoin('j');
  graph.addEdge(START, 'a').addEdge('a', 'j').addEdge('j', END);
  // @ts-expect-error -- no such node
  graph.addEdge('a', 'b');
  // @ts-expect-error -- no such node
  graph.addEdge('b', END);
});

test('an input schema says what the function is given, and an output schema what goes on', () => {
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

test('what a node gives that another one runs is known', () => {
  const double = node('double', (input: number) => input * 2);
  const tool = new FunctionTool({ name: 'tool', description: '', execute: () => 1 });
  new StateGraph({ name: 'g' }).addNode('a', async (_: string, context) => {
    expectTypeOf(await context.runNode(double, 2)).toEqualTypeOf<number>();
    expectTypeOf(await context.runNode(tool, {})).toEqualTypeOf<unknown>();
    // @ts-expect-error -- it takes a number
    await context.runNode(double, 'x');
    const slow = node('slow', async (input: number) => `${input}`);
    expectTypeOf(await context.runNode(slow, 2)).toEqualTypeOf<string>();
    const writes = node('writes', (_: unknown, inner: NodeContext<{ n: number }, { n: number }>) => {
      inner.update({ n: inner.state.n + 1 });
    });
    await context.runNode(writes, null);
  });
});
