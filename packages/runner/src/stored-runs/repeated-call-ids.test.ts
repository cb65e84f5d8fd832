import { BaseLlm, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, ParallelAgent } from '@eventloom/multi-agent';
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

test('a call gets an id of its own while a call with the id of its model waits on another branch', async () => {
  const { say, answer, stored, expectNoLooseEnds } = await playing(() => {
    const left = planned('left', [[['wait', 'c1']]], [wait]);
    const right = planned('right', [[['look', 'c0']], [['wait', 'c1']]], [wait, look]);
    return new ParallelAgent({ name: 'both', subAgents: [left, right] });
  });
  await say();
  const waiting = (await stored()).flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);
  expect(waiting).toEqual(['c1', 'adk-c1-2']);
  await answer(['adk-c1-2', { result: 'R' }]);
  await answer(['c1', { result: 'L' }]);
  const texts = (await stored()).flatMap(({ author, content }) => (content?.parts?.[0]?.text ? [author] : []));
  expect(texts).toEqual(['user', 'right', 'left']);
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

const book = (ran: unknown[]): FunctionTool =>
  new FunctionTool({
    name: 'book',
    description: '',
    requireConfirmation: true,
    execute: (_, { functionCallId }) => ran.push(functionCallId),
  });

test.each([
  ['oldest first', [0, 1]],
  ['newest first', [1, 0]],
])('the model is called once all of its calls that may not run beside it are approved, %s', async (_, order) => {
  const ran: unknown[] = [];
  const { say, answer, asked, stored, expectNoLooseEnds } = await playing(() =>
    planned('lead', [[['pay', 'c1']], [['book', 'c2']]], [asking(ran), book(ran)]),
  );
  await say();
  const ids = await asked();
  for (const place of order) {
    await expectNoLooseEnds();
    await answer([ids[place] ?? '', YES]);
  }
  expect(new Set(ran)).toEqual(new Set(['c1', 'c2']));
  expect((await stored()).at(-1)?.object).toBe('runner.end');
  await expectNoLooseEnds();
});

test('an approved call of an earlier reply runs while a called agent of a later one waits', async () => {
  const ran: unknown[] = [];
  const { say, answer, asked, stored, expectNoLooseEnds } = await playing(() => {
    const asker = new AgentTool({ agent: planned('asker', [[['wait', 'w1']]], [wait]) });
    return planned('lead', [[['pay', 'c1']], [['asker', 'c2']]], [asking(ran), asker]);
  });
  await say();
  await answer([(await asked())[0] ?? '', YES]);
  expect(ran).toEqual(['c1']);
  await answer(['w1', { result: 42 }]);
  expect((await stored()).at(-1)?.object).toBe('runner.end');
  await expectNoLooseEnds();
});

/** A model that calls the tool that the message names for its agent, such as `left wait`, and gives every call one id. */
class ObeyingModel extends BaseLlm {
  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const [agent, name] = contents.at(-1)?.parts?.[0]?.text?.split(' ') ?? [];
    const part = agent === this.model && name ? { functionCall: { id: 'c1', name } } : { text: 'ok' };
    yield { content: { role: 'model', parts: [part] }, finishReason: 'STOP' };
  }
}

test('an answer reaches its call although another agent has used the id since', async () => {
  const obeying = (name: string) =>
    new LlmAgent({ name, model: new ObeyingModel({ model: name }), tools: [wait, look] });
  const { say, answer } = await playing(
    () => new ParallelAgent({ name: 'both', subAgents: [obeying('left'), obeying('right')] }),
  );
  const first = await say('left wait');
  for (let run = 0; run < 5; run++) await say('hello');
  await say('right look');
  expect((await answer(['c1', { result: 'A' }]))[0]?.invocationId).toBe(first);
});

test.each([true, false])(
  'a request is answered once while its call waits for another one (resumable: %j)',
  async (resumable) => {
    const both = new FunctionTool({
      name: 'both',
      description: '',
      execute: (_, toolContext) =>
        [
          toolContext.requestInput({ message: '?', key: 'a' }),
          toolContext.requestInput({ message: '?', key: 'b' }),
        ].every((value) => value !== undefined),
    });
    const { say, answer, stored, expectNoLooseEnds } = await playing(
      () => planned('lead', [[['both', 'c1']]], [both]),
      {
        resumable,
      },
    );
    await say();
    const [a = '', b = ''] = new Calls(await stored()).waiting.map(({ id }) => id);
    await answer([a, { result: 'x' }]);
    await expect(answer([a, { result: 'y' }])).rejects.toThrow('has already been answered');
    await answer([b, { result: 'z' }]);
    await expectNoLooseEnds();
  },
);

test('an agent that asked and transferred control keeps to the transfer once it is answered', async () => {
  const ran: unknown[] = [];
  const lead = () =>
    planned(
      'lead',
      [
        [
          ['book', 'c1'],
          ['transfer_to_agent', 't1', { agent_name: 'sub' }],
        ],
      ],
      [book(ran)],
      {
        subAgents: [planned('sub', [[['look', 'l1']]], [look])],
      },
    );
  const { say, answer, asked, stored, expectNoLooseEnds } = await playing(lead);
  await say();
  await answer([(await asked())[0] ?? '', YES]);
  expect(ran).toEqual(['c1']);
  const texts = (await stored()).flatMap(({ content }) => content?.parts?.flatMap(({ text }) => text ?? []) ?? []);
  expect(texts).toEqual(['hi', 'sub done']);
  await expectNoLooseEnds();
});

test('a call may ask in several rounds', async () => {
  const rounds = new FunctionTool({
    name: 'rounds',
    description: '',
    execute: (_, toolContext) => {
      const first = toolContext.requestInput({ message: '?', key: 'a' });
      if (first === undefined) return undefined;
      return toolContext.requestInput({ message: '?', key: 'b' }) === undefined ? undefined : 'done';
    },
  });
  const { say, answer, stored, expectNoLooseEnds } = await playing(() =>
    planned('lead', [[['rounds', 'c1']]], [rounds]),
  );
  await say();
  for (let round = 0; round < 2; round++) {
    const [id = ''] = new Calls(await stored()).waiting.map((call) => call.id);
    await answer([id, { result: 'x' }]);
  }
  await expectNoLooseEnds();
});

test('the calls of a reply have ids of their own, also if the model gives one that was made up for another', async () => {
  const { say, responses, expectNoLooseEnds } = await playing(() =>
    planned(
      'lead',
      [
        [
          ['look', 'd'],
          ['look', 'd'],
          ['look', 'adk-d-2'],
        ],
      ],
      [look],
    ),
  );
  await say();
  expect((await responses()).map(([id]) => id)).toEqual(['d', 'adk-d-2', 'adk-adk-d-2-2']);
  await expectNoLooseEnds();
});
