import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END, node, START, StateGraph } from './index.ts';
import { outputOf, run } from './fixtures/state-run.ts';

const idle = (): null => null;

test.each([0, 1])(
  'nodes see the state at the beginning of their step and their own changes, whichever runs first: %s',
  async (first) => {
    const gates = [new Gate(), new Gate()] as const;
    gates[first]?.open();
    const tool = new FunctionTool({
      name: 'tool',
      description: '',
      execute: async (_, { state }) => {
        await gates[1].pass();
        const found = [state.get('who'), state.get('gone')];
        state.set('who', 'tool');
        gates[0].open();
        return { seen: [...found, state.get('who')] };
      },
    });
    const agent = new StateGraph({ name: 'g' })
      .addNode('before', () => ({}))
      .addNode('work', async (_: unknown, { callbackContext: { state } }) => {
        await gates[0].pass();
        const found = [state.get('who'), state.get('gone')];
        state.set('who', 'work');
        state.remove('gone');
        gates[1].open();
        return { seen: [...found, state.get('who'), state.has('gone')] };
      })
      .addNode('tool', tool)
      .addJoin('both', (inputs, { callbackContext: { state } }) => [inputs, state.get('who'), state.has('gone')])
      .addEdge(START, 'before')
      .addEdge('before', ['work', 'tool'])
      .addEdge('work', 'both')
      .addEdge('tool', 'both')
      .addEdge('both', END)
      .compile();
    expect(await outputOf(agent, { who: 'old', gone: 1 })).toEqual([
      { work: { seen: ['old', 1, 'work', false] }, tool: { seen: ['old', 1, 'tool'] } },
      'tool',
      false,
    ]);
  },
);

test.each([false, true])('a node sees state changes of its inner nodes, and they see its own: %s', async (isBeside) => {
  const model = new ScriptedModel(['a draft']);
  const writer = new LlmAgent({ name: 'writer', model, instruction: 'About {topic}.', outputKey: 'draft' });
  const inner = node('inner', (_: unknown, { callbackContext: { state } }) => {
    const found = [state.get('topic'), state.get('draft')];
    state.set('inner', true);
    return found;
  });
  const agent = new StateGraph({ name: 'g' })
    .addNode('before', () => 1)
    .addNode('work', async (_: unknown, context) => {
      const { state } = context.callbackContext;
      state.set('topic', 'rain');
      await context.runNode(writer, 'go');
      return [await context.runNode(inner, null), state.get('draft'), state.get('inner')];
    })
    .addNode('beside', () => 1)
    .addEdge(START, 'before')
    .addConditionalEdges('before', () => (isBeside ? 'both' : 'one'), { both: ['work', 'beside'], one: 'work' })
    .addEdge('work', END)
    .addEdge('beside', END)
    .compile();
  const seen = [['rain', 'a draft'], 'a draft', true];
  expect(await outputOf(agent)).toEqual(isBeside ? { work: seen, beside: 1 } : seen);
  expect(JSON.stringify(model.requests[0]?.request.config)).toContain('About rain.');
});

test("concurrent inner nodes do not see each other's state changes", async () => {
  const gate = new Gate();
  const quick = node('quick', (_: unknown, { callbackContext: { state } }) => {
    state.set('who', 'quick');
    gate.open();
  });
  const slow = node('slow', async (_: unknown, { callbackContext: { state } }) => {
    await gate.pass();
    return state.get('who', 'nobody');
  });
  const agent = new StateGraph({ name: 'g' })
    .addNode('work', async (_: unknown, context) => {
      const [, seen] = await Promise.all([context.runNode(quick, null), context.runNode(slow, null)]);
      return [seen, context.callbackContext.state.get('who')];
    })
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile();
  expect(await outputOf(agent)).toEqual(['nobody', 'quick']);
});

test('temporary state that a node changes is visible in later nodes', async () => {
  const gate = new Gate();
  const tool = new FunctionTool({
    name: 'tool',
    description: '',
    execute: (_, { state }) => {
      state.set('temp:tool', 1);
      state.remove('temp:gone');
      return {};
    },
  });
  const inner = node('inner', (_: unknown, { callbackContext: { state } }) => state.set('temp:inner', 1));
  const agent = new StateGraph({ name: 'g' })
    .addNode('first', async (_: unknown, context) => {
      await context.runNode(inner, null);
      await context.runNode(tool, {});
      await gate.pass();
      return context.callbackContext.state.get('temp:inner');
    })
    .addNode('second', (_: unknown, { callbackContext: { state } }) => {
      state.set('temp:second', 1);
      gate.open();
    })
    .addJoin('both', (_, { callbackContext: { state } }) => state.toRecord())
    .addEdge(START, ['first', 'second'])
    .addEdge('first', 'both')
    .addEdge('second', 'both')
    .addEdge('both', END)
    .compile();
  const { events, state } = await run(agent);
  const end = events.findLast(({ actions }) => actions.agentState?.['run'] === 'end');
  expect(end?.actions.agentState?.['output']).toEqual({ 'temp:inner': 1, 'temp:tool': 1, 'temp:second': 1 });
  expect(state).toEqual({});
});

test('nodes of a sub-graph see the state at the beginning of the outer step', async () => {
  const gate = new Gate();
  const sub = new StateGraph({ name: 'sub' })
    .addNode('s1', async (_: unknown, { callbackContext: { state } }) => {
      await gate.pass();
      state.set('own', 1);
    })
    .addNode('s2', (_: unknown, { callbackContext: { state } }) => [state.get('who', 'nobody'), state.get('own')])
    .addEdge(START, 's1')
    .addEdge('s1', 's2')
    .addEdge('s2', END)
    .compile();
  const quick = node('quick', (_: unknown, { callbackContext: { state } }) => state.set('who', 'quick'));
  const agent = new StateGraph({ name: 'g' })
    .addNode('other', async (_: unknown, context) => {
      await context.runNode(quick, null);
      gate.open();
      return context.callbackContext.state.get('who');
    })
    .addNode('sub', sub)
    .addJoin('both', (inputs, { callbackContext: { state } }) => [inputs, state.get('who'), state.get('own')])
    .addEdge(START, ['other', 'sub'])
    .addEdge('other', 'both')
    .addEdge('sub', 'both')
    .addEdge('both', END)
    .compile();
  expect(await outputOf(agent)).toEqual([{ other: 'quick', sub: ['nobody', 1] }, 'quick', 1]);
});

test.each([false, true])(
  'a node sees what an agent called as a tool changed and an inner node removed: %s',
  async (isBeside) => {
    const model = new ScriptedModel(['yo']);
    const said = new LlmAgent({ name: 'said', model, outputKey: 'said' });
    const gone = node('gone', (_: unknown, { callbackContext: { state } }) => state.remove('old'));
    const agent = new StateGraph({ name: 'g' })
      .addNode('work', async (_: unknown, context) => {
        await context.runNode(new AgentTool({ agent: said }), { request: 'go' });
        await context.runNode(gone, null);
        const { state } = context.callbackContext;
        return [state.get('said'), state.has('old')];
      })
      .addNode('beside', idle)
      .addConditionalEdges(START, () => (isBeside ? 'both' : 'one'), { both: ['work', 'beside'], one: 'work' })
      .addEdge('work', END)
      .addEdge('beside', END)
      .compile();
    const seen = ['yo', false];
    expect(await outputOf(agent, { old: 1 })).toEqual(isBeside ? { work: seen, beside: null } : seen);
  },
);
