import { AgentTool } from '@eventloom/multi-agent';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { look, planned, playing, wait } from '../fixtures/planned-agent.ts';

const YES = { confirmed: true };

/** A tool that asks by itself, so that the model speaks before the answer. */
function asking(ran: unknown[]): FunctionTool {
  return new FunctionTool({
    name: 'pay',
    description: '',
    execute: (_, toolContext) => {
      if (!toolContext.toolConfirmation) {
        toolContext.requestConfirmation({ hint: 'sure?' });
        return { status: 'asked' };
      }
      ran.push(toolContext.functionCallId);
      return { paid: true };
    },
  });
}

test('calls to which a model gives one id in many replies get ids of their own, so that each has its response', async () => {
  const ran: unknown[] = [];
  const plan = [[['look', 'c1']], [['look', 'c1']], [['pay', 'c1']], [['look', 'c1']]] as const;
  const { say, answer, asked, responses, expectNoLooseEnds } = await playing(() =>
    planned('lead', plan, [look, asking(ran)]),
  );
  await say();
  await answer([(await asked())[0] ?? '', YES]);
  expect((await responses()).map(([id]) => id)).toEqual(['c1', 'adk-c1-2', 'adk-c1-3', 'adk-c1-4', 'adk-c1-3']);
  expect(ran).toEqual(['adk-c1-3']);
  await expectNoLooseEnds();
});

test('an answer reaches the newer of two waiting calls with one id, also if its run began long before', async () => {
  const looks = Array.from({ length: 20 }, () => [['look']] as const);
  const { say, answer, stored, expectNoLooseEnds } = await playing(() => {
    const asker = planned('asker', [...looks, [['wait', 'q']], [['wait', 'c1']]], [wait, look]);
    const quick = planned('quick', [[['wait', 'c1']]], [wait]);
    const tools = [new AgentTool({ agent: asker }), new AgentTool({ agent: quick })];
    return planned('lead', [[['asker', 'a1']], [['quick', 'a2']]], tools);
  });
  const runs = [await say('first'), await say('second')];
  await answer(['q', { result: 'Q' }]);
  const ended = [];
  for (const _ of runs) ended.push((await answer(['c1', { result: 'A' }])).at(-1)?.invocationId);
  expect(ended).toEqual(runs);
  expect((await stored()).filter(({ object }) => object === 'runner.end')).toHaveLength(2);
  await expectNoLooseEnds();
});

test.each([
  ['in one message', [[0, 1]]],
  ['oldest first', [[0], [1]]],
  ['newest first', [[1], [0]]],
])('calls of two replies that asked by themselves both run when they are approved %s', async (_, messages) => {
  const ran: unknown[] = [];
  const { say, answer, asked, expectNoLooseEnds } = await playing(() =>
    planned('lead', [[['pay', 'c1']], [['pay', 'c2']]], [asking(ran)]),
  );
  await say();
  const ids = await asked();
  for (const places of messages) await answer(...places.map((place) => [ids[place] ?? '', YES] as const));
  expect(new Set(ran)).toEqual(new Set(['c1', 'c2']));
  await expectNoLooseEnds();
});
