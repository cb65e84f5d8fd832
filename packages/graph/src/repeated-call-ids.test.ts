import { SequentialAgent } from '@eventloom/multi-agent';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { planned, playing, wait } from '../../runner/src/fixtures/planned-agent.ts';
import { END, START, StateGraph } from './index.ts';

test('two runs may wait at one node of a graph whose model gives its calls one id', async () => {
  const { say, answer, runner, responses, looseEnds, expectNoLooseEnds } = await playing(() =>
    new StateGraph({ name: 'g' })
      .addNode('asker', planned('asker', [[['wait', 'c1']]], [wait]))
      .addEdge(START, 'asker')
      .addEdge('asker', END)
      .compile(),
  );
  const first = await say('first');
  const second = await say('second');
  expect(await looseEnds()).toEqual([]);
  expect((await answer(['c1', { result: 'B' }]))[0]?.invocationId).toBe(second);
  await runner().cancelRun({ userId: 'u', sessionId: 's', invocationId: first });
  expect((await responses()).at(-1)).toEqual(['c1', { error: 'cancelled', message: expect.any(String) }]);
  await expectNoLooseEnds();
});

test('the event of a node has no responses, which could be taken for those of another call', async () => {
  const last = new FunctionTool({
    name: 'last',
    description: '',
    execute: (_, { actions }) => {
      actions.skipSummarization = true;
      return 'seen';
    },
  });
  const { say, answer, responses, expectNoLooseEnds } = await playing(() => {
    const graph = new StateGraph({ name: 'g' })
      .addNode('n', planned('looker', [[['last', 'c1']]], [last]))
      .addEdge(START, 'n')
      .addEdge('n', END)
      .compile();
    return new SequentialAgent({ name: 'seq', subAgents: [graph, planned('lead', [[['wait', 'c1']]], [wait])] });
  });
  await say('first');
  await say('second');
  await expectNoLooseEnds();
  expect((await responses()).map(([id]) => id)).toEqual(['c1', 'c1']);
  await answer(['c1', { result: 42 }]);
  await expectNoLooseEnds();
});
