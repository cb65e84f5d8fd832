import { getFunctionResponses } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, node, START, StateGraph } from './index.ts';
import { fanOut, questionsIn, setUp } from './fixtures/interrupted-run.ts';
import { outputOf } from './fixtures/read-output.ts';

test('a node in a sub-graph and an inner node can ask, and repeat no completed work', async () => {
  const ran: string[] = [];
  const makeAgent = () => {
    const sub = new StateGraph({ name: 'sub' })
      .addNode('first', () => void ran.push('sub first'))
      .addNode('ask', (_: unknown, context) => context.requestInput({ message: 'sub' }))
      .addEdge(START, 'first')
      .addEdge('first', 'ask')
      .addEdge('ask', END)
      .compile();
    const plain = node('plain', () => void ran.push('plain'));
    const asks = node('asks', (_: unknown, context) => context.requestInput({ message: 'inner' }));
    return new StateGraph({ name: 'g' })
      .addNode('sub', sub)
      .addNode('runs', async (_: unknown, context) => {
        await context.runNode(plain, null);
        return context.runNode(asks, null);
      })
      .addJoin('all')
      .addEdge(START, ['sub', 'runs'])
      .addEdge('sub', 'all')
      .addEdge('runs', 'all')
      .addEdge('all', END)
      .compile();
  };
  const { ask, answer } = await setUp(makeAgent);
  const questions = questionsIn(await ask());
  expect(new Set(questions.map(({ args }) => args?.['message']))).toEqual(new Set(['inner', 'sub']));
  for (const { id, args } of questions.slice(0, 1)) await answer([id, { result: args?.['message'] }]);
  const [, last] = questions;
  const events = await answer([last?.id, { result: last?.args?.['message'] }]);
  expect(outputOf(events)).toEqual({ sub: 'sub', runs: 'inner' });
  expect(ran.toSorted()).toEqual(['plain', 'sub first']);
});

test('a sequence waits for the questions of a graph in it, and continues after the graph', async () => {
  const said: string[] = [];
  const graph = () => fanOut({ a: (_, context) => context.requestInput(), b: () => 'b' })();
  const after = () =>
    new StateGraph({ name: 'after' })
      .addNode('end', () => void said.push('end'))
      .addEdge(START, 'end')
      .addEdge('end', END)
      .compile();
  const { ask, answer } = await setUp(() => new SequentialAgent({ name: 'seq', subAgents: [graph(), after()] }));
  const asked = await ask();
  expect(said).toEqual([]);
  await answer([questionsIn(asked)[0]?.id, { result: 1 }]);
  expect(said).toEqual(['end']);
});

test('a graph that is called as a tool can ask, and continues in the same call', async () => {
  const ran: string[] = [];
  let processes = 0;
  const { ask, answer } = await setUp(() => {
    const graph = new StateGraph({ name: 'order' })
      .addNode('check', (input: string) => {
        ran.push(`check ${input}`);
        return input;
      })
      .addNode('size', (_: unknown, context) => context.requestInput({ message: 'Which size?' }))
      .addEdge(START, 'check')
      .addEdge('check', 'size')
      .addEdge('size', END)
      .compile();
    const call = { calls: [{ name: 'order', args: { request: 'a shirt' } }] };
    const model = new ScriptedModel(processes++ === 0 ? [call] : ['ordered']);
    return new LlmAgent({ name: 'shop', model, tools: [new AgentTool({ agent: graph })] });
  });
  const [question] = questionsIn(await ask());
  expect(question?.args?.['message']).toBe('Which size?');
  const events = await answer([question?.id, { result: 'XL' }]);
  expect(events.flatMap(getFunctionResponses).map(({ name, response }) => [name, response])).toEqual([
    ['order', { result: 'XL' }],
  ]);
  expect(events.flatMap(({ content }) => content?.parts?.map(({ text }) => text) ?? [])).toContain('ordered');
  expect(ran).toEqual(['check a shirt']);
});
