import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END, type GraphAgent, node, START, StateGraph } from './index.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

/** Runs a graph to its end, and gives its output. */
async function outputOf(agent: GraphAgent, state: Record<string, unknown> = {}): Promise<unknown> {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ ...KEY, state });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform() });
  const events = await runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'x' }] } });
  return events.findLast(({ actions }) => actions.agentState?.['run'] === 'end')?.actions.agentState?.['output'];
}

test.each([0, 1])(
  'nodes of a step see the state that the step found and their own, whoever is first: %s',
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

test.each([false, true])(
  'a node sees what those that it runs changed, and they see what it did, beside others: %s',
  async (isBeside) => {
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
  },
);

test('nodes that one node runs at once do not see each other either', async () => {
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
