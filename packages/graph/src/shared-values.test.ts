import { type Event, getFunctionCalls } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { channel, END, type GraphAgent, node, START, StateGraph } from './index.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

const IDS = { userId: 'u', sessionId: 's' };

async function setUp(agent: GraphAgent) {
  const { runner } = await scenario({ agent, resumable: true });
  return (parts: object[] = [{ text: 'hi' }]) => runner.run({ ...IDS, newMessage: { parts } });
}

const outputOf = (events: readonly Event[]): unknown =>
  events.findLast(({ actions }) => actions.agentState?.['run'] === 'end')?.actions.agentState?.['output'];

/** Returns true if the change throws a TypeError. */
function isSafe(change: () => unknown): boolean {
  try {
    change();
    return false;
  } catch (error) {
    return error instanceof TypeError;
  }
}

interface Item {
  list: unknown[];
}

test('shared values cannot be modified by nodes, routers, joins and repeated functions', async () => {
  const safe: Record<string, boolean> = {};
  const own: Item = { list: [{ deep: [1] }] };
  const agent = new StateGraph({ name: 'g' })
    .addNode('first', () => own)
    .addNode('left', (input: Item) => {
      safe['node'] =
        isSafe(() => input.list.push('left')) && isSafe(() => Object.assign(input.list[0] ?? {}, { deep: 2 }));
      return input;
    })
    .addNode('right', (input: Item) => input)
    .addJoin('both', (inputs) => {
      safe['join'] =
        isSafe(() => (inputs['left'] as Item).list.push('join')) && isSafe(() => Object.assign(inputs, { left: 1 }));
      return inputs;
    })
    .addEdge(START, 'first')
    .addConditionalEdges(
      'first',
      (output) => {
        safe['router'] = isSafe(() => output.list.push('router'));
        return 'on';
      },
      { on: ['left', 'right'] },
    )
    .addEdge('left', ['both', END])
    .addEdge('right', 'both')
    .addEdge('both', END)
    .compile();
  const send = await setUp(agent);
  const given = { list: [{ deep: [1] }] };
  expect(outputOf(await send())).toEqual({ left: given, both: { left: given, right: given } });
  expect(safe).toEqual({ router: true, node: true, join: true });
  // The value that the function returned stays the function’s own.
  expect(isSafe(() => own.list.push('mine'))).toBe(false);
});

test('each attempt gets the original input, even if an earlier attempt tried to change it', async () => {
  const seen: unknown[] = [];
  const inner = node('inner', (input: Item) => {
    seen.push(isSafe(() => input.list.shift()));
    return { list: ['made'] };
  });
  const agent = new StateGraph({ name: 'g' })
    .addNode('first', () => ({ list: [1] }))
    .addNode(
      'work',
      async (input: Item, context) => {
        const made = await context.runNode(inner, { list: [2] });
        const answer = (await context.requestInput()) as Item;
        for (const { list } of [input, made, answer]) seen.push(isSafe(() => list.shift()));
        if (context.attempt === 1) throw new Error('once');
        return [input, made, answer];
      },
      { retry: { maxAttempts: 2, initialDelayMs: 0 } },
    )
    .addEdge(START, 'first')
    .addEdge('first', 'work')
    .addEdge('work', END)
    .compile();
  const send = await setUp(agent);
  const [question] = (await send()).flatMap(getFunctionCalls);
  const answered = await send([{ functionResponse: { id: question?.id ?? '', response: { result: { list: [3] } } } }]);
  expect(outputOf(answered)).toEqual([{ list: [1] }, { list: ['made'] }, { list: [3] }]);
  expect(seen).toEqual([true, true, true, true, true, true, true]);
});

test('a reducer cannot modify the current value or the write', async () => {
  const safe: boolean[] = [];
  const list = channel(z.array(z.number()), {
    default: [],
    reducer: (current, update: number[]) => {
      safe.push(
        isSafe(() => (current as number[]).push(1)),
        isSafe(() => update.push(1)),
      );
      return [...(current ?? []), ...update];
    },
  });
  const agent = new StateGraph({ name: 'g', channels: { list } })
    .addNode('work', (_: unknown, context) => context.update({ list: [1] }), { writes: ['list'] })
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile();
  await (
    await setUp(agent)
  )();
  expect(safe).toEqual([true, true]);
});

test('a tool node gets its own copy of the arguments', async () => {
  const tool = new FunctionTool({
    name: 'tool',
    description: '',
    execute: (args) => {
      (args as unknown as Item).list.push('tool');
      return args;
    },
  });
  const agent = new StateGraph({ name: 'g' })
    .addNode('first', () => ({ list: [1] }))
    .addNode('tool', tool)
    .addNode('other', (input: Item) => input)
    .addEdge(START, 'first')
    .addEdge('first', ['tool', 'other'])
    .addEdge('tool', END)
    .addEdge('other', END)
    .compile();
  expect(outputOf(await (await setUp(agent))())).toEqual({ tool: { list: [1, 'tool'] }, other: { list: [1] } });
});
