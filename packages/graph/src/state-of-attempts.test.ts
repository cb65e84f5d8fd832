import { RunAbortedError, type ToolContext } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END, type NodeContext, START, StateGraph } from './index.ts';
import { outputOf, run } from './fixtures/state-run.ts';

const idle = (): null => null;

test.each([false, true])('an attempt starts without the state changes of failed attempts: %s', async (isBeside) => {
  let held: NodeContext['callbackContext'] | undefined;
  const work = (_: unknown, context: NodeContext): unknown => {
    const { state } = context.callbackContext;
    const found = state.get<number>('n', 0);
    state.set('n', found + 1);
    if (context.attempt === 1) {
      held = context.callbackContext;
      state.set('phantom', true);
      throw new Error('no');
    }
    expect(() => held?.state.set('late', 1)).toThrow(RunAbortedError);
    expect(() => held?.state.remove('n')).toThrow(RunAbortedError);
    return found;
  };
  const agent = new StateGraph({ name: 'g' })
    .addNode('work', work, { retry: { maxAttempts: 3, initialDelayMs: 0 } })
    .addNode('beside', idle)
    .addNode('next', (_: unknown, { callbackContext: { state } }) =>
      ['n', 'phantom', 'late'].map((key) => state.get(key, null)),
    )
    .addConditionalEdges(START, () => (isBeside ? 'both' : 'one'), { both: ['work', 'beside'], one: 'work' })
    .addEdge('work', 'next')
    .addEdge('beside', END)
    .addEdge('next', END)
    .compile();
  const { events, state } = await run(agent);
  const next = events.find(({ author }) => author === 'next');
  expect(next?.actions.agentState?.['output']).toEqual([1, null, null]);
  expect(state).toEqual({ n: 1 });
});

test('a tool attempt does not see changes of failed attempts, and these cannot write any more', async () => {
  const contexts: ToolContext[] = [];
  const tool = new FunctionTool({
    name: 'tool',
    description: '',
    idempotent: true,
    execute: (_, context) => {
      const [first] = contexts;
      contexts.push(context);
      const found = context.state.get('phantom', 'nothing');
      context.state.set('phantom', 1);
      if (!first) throw new Error('no');
      context.state.remove('phantom');
      expect(() => first.state.set('late', 1)).toThrow(RunAbortedError);
      return { found };
    },
  });
  const agent = new StateGraph({ name: 'g' })
    .addNode('before', () => ({}))
    .addNode('tool', tool, { retry: { maxAttempts: 2, initialDelayMs: 0 } })
    .addNode('after', (given: unknown, { callbackContext: { state } }) => [given, state.toRecord()])
    .addEdge(START, 'before')
    .addEdge('before', 'tool')
    .addEdge('tool', 'after')
    .addEdge('after', END)
    .compile();
  expect(await outputOf(agent)).toEqual([{ found: 'nothing' }, {}]);
});

test('saveArtifact throws after the attempt has ended', async () => {
  let held: NodeContext | undefined;
  const agent = new StateGraph({ name: 'g' })
    .addNode('work', (_: unknown, context) => void (held = context))
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile();
  await run(agent);
  await expect(held?.callbackContext.saveArtifact('a.txt', { text: 'x' })).rejects.toThrow(RunAbortedError);
});
