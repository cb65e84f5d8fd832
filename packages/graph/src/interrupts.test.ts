import { InvalidMessageError } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { END, type NodeContext, START, StateGraph } from './index.ts';
import { fanOut, questionsIn, setUp } from './fixtures/interrupted-run.ts';
import { outputOf } from './fixtures/read-output.ts';
import { IDS } from '../../runner/src/fixtures/scenario.ts';

test('a node asks with a schema, and the answer resumes the run in another process', async () => {
  const ran: string[] = [];
  const responseSchema = z.object({ approved: z.boolean(), by: z.string().default('nobody') });
  const { ask, answer } = await setUp(
    fanOut(
      {
        a: async (_, context) => {
          ran.push('a begins');
          return context.requestInput({ message: 'Good?', payload: { draft: 1 }, responseSchema });
        },
        b: () => void ran.push('b'),
      },
      ran,
    ),
  );
  const asked = await ask();
  const [question] = questionsIn(asked);
  expect(question).toMatchObject({
    name: 'adk_request_input',
    args: { message: 'Good?', payload: { draft: 1 }, response_schema: { type: 'object', required: ['approved'] } },
  });
  expect(asked.find(({ longRunningToolIds }) => longRunningToolIds)?.author).toBe('a');
  expect(ran).toEqual(['before', 'a begins', 'b']);
  await expect(answer([question?.id, { approved: 'maybe' }])).rejects.toThrow(InvalidMessageError);
  const events = await answer([question?.id, { approved: true }]);
  expect(events[0]?.invocationId).toBe(asked[0]?.invocationId);
  expect(outputOf(events)).toMatchObject({ a: { approved: true, by: 'nobody' } });
  // Finished work is not repeated; the node that asked starts again.
  expect(ran).toEqual(['before', 'a begins', 'b', 'a begins']);
});

test('several nodes ask concurrently and continue when answered together', async () => {
  const works = {
    a: (_: unknown, context: NodeContext) => context.requestInput(),
    b: (_: unknown, context: NodeContext) => context.requestInput(),
  };
  const { ask, answer } = await setUp(fanOut(works));
  const [a, b] = questionsIn(await ask());
  expect(a?.id).not.toBe(b?.id);
  expect(outputOf(await answer([b?.id, { result: 'for b' }], [a?.id, { result: 'for a' }]))).toEqual({
    a: 'for a',
    b: 'for b',
  });
});

test('several nodes ask concurrently and each continues with its own answer', async () => {
  const ran: string[] = [];
  const begun: string[] = [];
  const asks = (name: string) => async (_: unknown, context: NodeContext) => {
    begun.push(name);
    const answer = await context.requestInput();
    ran.push(name);
    return answer;
  };
  const { ask, answer } = await setUp(fanOut({ a: asks('a'), b: asks('b'), c: asks('c') }));
  const [a, b, c] = questionsIn(await ask());
  const second = await answer([b?.id, { result: 2 }]);
  expect([ran, questionsIn(second), outputOf(second)]).toEqual([['b'], [], undefined]);
  const third = await answer([a?.id, { result: 1 }]);
  expect([ran, questionsIn(third), outputOf(third)]).toEqual([['b', 'a'], [], undefined]);
  expect(outputOf(await answer([c?.id, { result: 3 }]))).toEqual({ a: 1, b: 2, c: 3 });
  // No node is run again for the answer to another one.
  expect(begun).toEqual(['a', 'b', 'c', 'b', 'a', 'c']);
});

test('a node asks several questions by key, together and one after the other', async () => {
  const { ask, answer } = await setUp(
    fanOut({
      a: async (_, context) => {
        const both = await Promise.all([context.requestInput({ key: 'x' }), context.requestInput({ key: 'y' })]);
        return [...both, await context.requestInput({ key: 'z' })];
      },
      b: () => 'b',
    }),
  );
  const [x, y, ...more] = questionsIn(await ask());
  expect([x?.args?.['key'], y?.args?.['key'], more]).toEqual(['x', 'y', []]);
  const next = await answer([x?.id, { result: 1 }], [y?.id, { result: 2 }]);
  const [z] = questionsIn(next);
  expect(z?.args?.['key']).toBe('z');
  expect(outputOf(await answer([z?.id, { result: 3 }]))).toEqual({ a: [1, 2, 3], b: 'b' });
});

test('a node that catches the interrupt still waits for the answer', async () => {
  const { ask, answer } = await setUp(
    fanOut({ a: (_, context) => context.requestInput().catch(() => 'nobody'), b: () => 'b' }),
  );
  const asked = await ask();
  expect(outputOf(asked)).toBeUndefined();
  expect(outputOf(await answer([questionsIn(asked)[0]?.id, { result: 'me' }]))).toEqual({ a: 'me', b: 'b' });
});

test('a node asks again after an expired answer', async () => {
  const { ask, send, platform } = await setUp(fanOut({ a: (_, context) => context.requestInput(), b: () => 'b' }));
  const [first] = questionsIn(await ask());
  platform.advance(1001);
  const late = await send([{ functionResponse: { id: first?.id ?? '', response: { result: 'late' } } }], {
    requestTtlMs: 1000,
  });
  const [second] = questionsIn(late);
  expect(second?.id).not.toBe(first?.id);
  const events = await send([{ functionResponse: { id: second?.id ?? '', response: { result: 'in time' } } }], {
    requestTtlMs: 1000,
  });
  expect(outputOf(events)).toEqual({ a: 'in time', b: 'b' });
});

test('a node in a loop asks again in each round', async () => {
  const makeAgent = () =>
    new StateGraph({ name: 'g' })
      .addNode('ask', (_: unknown, context) => context.requestInput())
      .addEdge(START, 'ask')
      .addConditionalEdges('ask', (output) => (output === 'stop' ? 'stop' : 'more'), { more: 'ask', stop: END })
      .compile();
  const { ask, answer } = await setUp(makeAgent);
  let events = await ask();
  for (const result of ['one', 'two', 'stop']) {
    expect(questionsIn(events)).toHaveLength(1);
    events = await answer([questionsIn(events)[0]?.id, { result }]);
  }
  expect(outputOf(events)).toBe('stop');
});

test('requestInput throws in a run that is not resumable an error that says what to do', async () => {
  const { ask } = await setUp(fanOut({ a: (_, context) => context.requestInput(), b: () => 'b' }), false);
  await expect(ask()).rejects.toThrow(/node "a".*resumable: true/);
});

test('an answer to an abandoned run is refused, stores nothing and runs no node', async () => {
  const ran: string[] = [];
  const makeAgent = fanOut({ a: (_, context) => context.requestInput(), b: () => 'b' }, ran);
  const { ask, answer, sessionService, platform } = await setUp(makeAgent);
  const asked = await ask();
  const runner = new Runner({ appName: 'app', agent: makeAgent(), sessionService, platform });
  await runner.closeRun({ ...IDS, invocationId: asked[0]?.invocationId ?? '', reason: 'given up' });
  const stored = async () => (await sessionService.getSession({ appName: 'app', ...IDS }))?.events.length;
  const before = await stored();
  const refused = expect(answer([questionsIn(asked)[0]?.id, { result: 1 }])).rejects;
  await refused.toThrow(InvalidMessageError);
  expect(await stored()).toBe(before);
  expect(ran).toEqual(['before']);
});
