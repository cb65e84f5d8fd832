import type { BaseAgent } from '@eventloom/core';
import { END, START, StateGraph } from '@eventloom/graph';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { SESSION, serverScenario } from '../fixtures/server-scenario.ts';

const RUNS = `${SESSION}/runs`;

async function setUp(given?: BaseAgent) {
  const graph = new StateGraph({ name: 'review' })
    .addNode('draft', (input: string) => `draft of ${input}`)
    .addNode('approve', (_input: string, context) => context.requestInput({ message: 'Good?' }))
    .addEdge(START, 'draft')
    .addEdge('draft', 'approve')
    .addEdge('approve', END)
    .compile();
  const agent = given ?? new SequentialAgent({ name: 'root', subAgents: [graph] });
  const { runner, send } = await serverScenario({ agent, runner: { resumable: true } });
  const get = async (path: string) => {
    const response = await send('GET', path);
    return { status: response.status, json: await response.json() };
  };
  return { runner, get };
}

test('a run lists its graphs with steps, state, open questions and path', async () => {
  const { runner, get } = await setUp();
  const stream = runner.runAsync({ userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });
  let id = '';
  for await (const event of stream) id = event.longRunningToolIds?.[0] ?? id;
  const waiting = await get(`${RUNS}/${stream.invocationId}/graph`);
  expect(waiting).toMatchObject({
    status: 200,
    json: [
      {
        graph: {
          name: 'review',
          nodes: [
            { name: 'draft', kind: 'function' },
            { name: 'approve', kind: 'function' },
          ],
          edges: [
            { from: START, to: 'draft' },
            { from: 'draft', to: 'approve' },
            { from: 'approve', to: END },
          ],
        },
        runs: [
          {
            status: 'waiting',
            questions: [{ node: 'approve', id, message: 'Good?' }],
            steps: [{ step: 1 }, { step: 2 }],
          },
        ],
        mermaid: expect.stringContaining('open'),
      },
    ],
  });
  const newMessage = { parts: [{ functionResponse: { id, response: { result: 'yes' } } }] };
  await runner.run({ userId: 'ann', sessionId: 's', newMessage });
  expect(await get(`${RUNS}/${stream.invocationId}/graph`)).toMatchObject({
    json: [{ runs: [{ status: 'finished', output: 'yes', questions: [] }] }],
  });
});

test('graphs are listed before a run, including those inside tools and nodes', async () => {
  const leaf = (name: string) =>
    new StateGraph({ name })
      .addNode('ask', (_: unknown, context) => context.requestInput())
      .addEdge(START, 'ask')
      .addEdge('ask', END)
      .compile();
  const graph = new StateGraph({ name: 'outer' })
    .addNode('sub', leaf('sub'))
    .addEdge(START, 'sub')
    .addEdge('sub', END)
    .compile();
  const model = new ScriptedModel([{ calls: [{ name: 'outer', args: { request: 'x' } }] }, 'fine']);
  const agent = new LlmAgent({ name: 'root', model, tools: [new AgentTool({ agent: graph })] });
  const { runner, get } = await setUp(agent);
  expect(await get('/apps/app/users/ann/graphs')).toMatchObject({
    status: 200,
    json: [
      { graph: { name: 'outer', nodes: [{ name: 'sub', kind: 'graph' }] }, runs: [] },
      { graph: { name: 'sub' }, runs: [] },
    ],
  });
  const stream = runner.runAsync({ userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });
  for await (const _ of stream);
  const question = { questions: [{ node: 'ask' }], status: 'waiting' };
  expect(await get(`${RUNS}/${stream.invocationId}/graph`)).toMatchObject({
    json: [
      { graph: { name: 'outer' }, runs: [question] },
      { graph: { name: 'sub' }, runs: [question] },
    ],
  });
});

test('an unknown run is a 404', async () => {
  const { get } = await setUp();
  expect(await get(`${RUNS}/e-none/graph`)).toMatchObject({ status: 404, json: { code: 'RUN_NOT_FOUND' } });
});
