import { expect, test } from 'vitest';
import { END, START, StateGraph } from './index.ts';
import { reviewGraph, setUp } from './fixtures/review-graph.ts';
import { askingGraph, waiting } from './fixtures/waiting-run.ts';

test('toMermaid draws the graph, and marks the path of a run', async () => {
  const { history, asked, answer } = await setUp();
  const agent = reviewGraph();
  expect(agent.toMermaid()).toBe(`flowchart TD
  n0([start])
  n1["draft"]
  n2["critique"]
  n3["approve"]
  n4["publish"]
  n5([end])
  n0 --> n1
  n1 --> n2
  n2 -- "again" --> n1
  n2 -- "ask" --> n3
  n3 --> n4
  n4 --> n5
`);
  const marksOf = async () =>
    agent
      .toMermaid((await history())[0])
      .split('\n')
      .filter((line) => /class |linkStyle/.test(line));
  expect(await marksOf()).toEqual(['  class n0,n1,n2 done', '  class n3 open', '  linkStyle 0,1,2,3 stroke-width:3px']);
  await answer('s', asked, 'yes');
  expect(await marksOf()).toEqual(['  class n0,n1,n2,n3,n4,n5 done', '  linkStyle 0,1,2,3,4,5 stroke-width:3px']);
});

test('toMermaid draws sub-graphs with their runs, and escapes route names', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('sub', askingGraph())
    .addNode('last', () => 1)
    .addEdge(START, 'sub')
    .addConditionalEdges('sub', () => 'on', { on: 'last', 'say "x";\n#1': 'last', end: END })
    .addEdge('last', END)
    .compile();
  const { query } = await waiting(agent);
  expect(agent.toMermaid(agent.history(await query())[0])).toBe(`flowchart TD
  n0([start])
  subgraph n1 ["sub"]
    n1_0([start])
    n1_1["before"]
    n1_2["ask"]
    n1_3([end])
    n1_0 --> n1_1
    n1_1 --> n1_2
    n1_2 --> n1_3
  end
  n2["last"]
  n3([end])
  n0 --> n1
  n1 -- "on / say #34;x#34;#59; #35;1" --> n2
  n1 -- "end" --> n3
  n2 --> n3
  classDef done stroke-width:3px
  classDef open stroke-width:3px,stroke-dasharray:5 5
  class n1_0,n1_1,n0 done
  class n1_2,n1 open
  linkStyle 0,1,3 stroke-width:3px
`);
});

test('toMermaid marks a node that runs again only as open', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('turn', async (round: unknown, context) => {
      if (round !== 'x') await context.requestInput();
      context.route = 'again';
    })
    .addEdge(START, 'turn')
    .addRoutes('turn', { again: 'turn', done: END })
    .compile();
  const { query } = await waiting(agent);
  const chart = agent.toMermaid(agent.history(await query())[0]);
  expect(chart.split('\n').filter((line) => line.includes('class '))).toEqual(['  class n0 done', '  class n1 open']);
});
