import { BaseAgent, type Event, getFunctionResponses, type InvocationContext, requestInput } from '@eventloom/core';
import { ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import type { ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { agentOf, answer, answerPart, questions, responses, setUp, textsOf } from './fixtures/asking-run.ts';

/** An agent that requests a size and then a colour, and reports both. */
class Clerk extends BaseAgent {
  constructor(name = 'clerk') {
    super({ name });
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const size = yield* requestInput(context, { key: 'size', responseSchema: { type: 'integer' } });
    if (size === undefined) return;
    const colour = yield* requestInput(context, { key: 'colour', message: `Which colour in ${JSON.stringify(size)}?` });
    if (colour === undefined) return;
    yield context.createEvent({
      content: { parts: [{ text: `${JSON.stringify(colour)} in ${JSON.stringify(size)}` }] },
    });
  }
}

describe('a custom agent that calls requestInput', () => {
  test.each([false, true])('has the answers when it runs again (resumable: %s)', async (resumable) => {
    const { run } = await setUp({ resumable });
    const first = await run(new Clerk());
    expect(questions(first)).toMatchObject([{ args: { key: 'size', response_schema: { type: 'integer' } } }]);
    await expect(run(new Clerk(), answer(first, 'large'))).rejects.toThrow('does not match the requested schema');
    const second = await run(new Clerk(), answer(first, 5));
    expect(questions(second)).toMatchObject([{ args: { key: 'colour', message: 'Which colour in 5?' } }]);
    const third = await run(new Clerk(), answer(second, 'red'));
    expect(textsOf(third)).toEqual(['"red" in 5']);
    await expect(run(new Clerk(), answer(first, 6))).rejects.toThrow('has already been answered');
  });

  test('takes one answer in a message if it asked the same in two runs, because one run uses one answer', async () => {
    const { run, stored } = await setUp({ resumable: false });
    const asked = [...(await run(new Clerk())), ...(await run(new Clerk()))];
    const before = await stored();
    await expect(run(new Clerk(), answer(asked, 5, 6))).rejects.toThrow('asked more than once');
    expect(await stored()).toEqual(before);
    const [first, second] = questions(asked).map(({ id }) => id);
    for (const [id, size] of [
      [first, 5],
      [second, 6],
    ] as const) {
      const events = await run(new Clerk(), { newMessage: { parts: [answerPart(id, { result: size })] } });
      expect(questions(events)).toMatchObject([{ args: { message: `Which colour in ${size}?` } }]);
    }
  });

  test('pauses its workflow, which completes with the answers', async () => {
    const { run } = await setUp({ resumable: true });
    const flow = (steps: ScriptedStep[]) =>
      new SequentialAgent({ name: 'flow', subAgents: [new Clerk(), agentOf('last', steps)] });
    const first = await run(flow([]));
    // An agent that is resumed without the answer waits, and does not ask again.
    expect(questions(await run(flow([]), { invocationId: first[0]?.invocationId }))).toEqual([]);
    const second = await run(flow([]), answer(first, 5));
    const third = await run(flow(['the end']), answer(second, 'red'));
    expect(textsOf(third)).toEqual(['"red" in 5', 'the end']);
    expect(new Set([...first, ...second, ...third].map(({ invocationId }) => invocationId)).size).toBe(1);
  });

  test('in parallel branches gets its own answer, also from one message', async () => {
    const { run } = await setUp({ resumable: true });
    const flow = () => new ParallelAgent({ name: 'par', subAgents: [new Clerk('left'), new Clerk('right')] });
    const first = await run(flow());
    const second = await run(flow(), answer(first, 1, 2));
    expect(questions(second)).toHaveLength(2);
    const byAuthor = new Map(second.map((event) => [event.author, questions([event])[0]]));
    const parts = [
      answerPart(byAuthor.get('right')?.id, { result: 'blue' }),
      answerPart(byAuthor.get('left')?.id, { result: 'red' }),
    ];
    expect(textsOf(await run(flow(), { newMessage: { parts } })).toSorted()).toEqual(['"blue" in 2', '"red" in 1']);
  });

  test('can be answered in a new run after its run was closed', async () => {
    const { run, stored, runnerOf } = await setUp({ resumable: true });
    const first = await run(new Clerk());
    const invocationId = first[0]?.invocationId ?? '';
    await runnerOf(new Clerk()).closeRun({ userId: 'u', sessionId: 's', invocationId, reason: 'enough' });
    expect(responses(await stored())).toEqual([]);
    expect(questions(await run(new Clerk(), answer(first, 5)))).toMatchObject([{ args: { key: 'colour' } }]);
  });

  test('asks again when it runs for another message', async () => {
    const { run } = await setUp();
    const first = await run(new Clerk());
    await run(new Clerk(), answer(first, 5));
    expect(questions(await run(new Clerk()))).toMatchObject([{ args: { key: 'size' } }]);
  });

  test('asks again after an expired answer', async () => {
    const { run, platform } = await setUp({ resumable: true, requestTtlMs: 1000 });
    const first = await run(new Clerk());
    platform.advance(1001);
    const again = await run(new Clerk(), answer(first, 'anything'));
    expect(questions(again)).toMatchObject([{ args: { key: 'size' } }]);
    expect(questions(await run(new Clerk(), answer(again, 5)))).toMatchObject([{ args: { key: 'colour' } }]);
  });
});

test('a custom agent with a long-running call pauses in a resumable run', async () => {
  class Caller extends BaseAgent {
    constructor() {
      super({ name: 'caller' });
    }

    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const given = context.session.events.flatMap(getFunctionResponses).find(({ id }) => id === 'k1');
      if (given) {
        yield context.createEvent({ content: { parts: [{ text: `got ${String(given.response?.['n'])}` }] } });
        return;
      }
      const functionCall = { id: 'k1', name: 'elsewhere', args: {} };
      yield context.createEvent({ content: { role: 'model', parts: [{ functionCall }] }, longRunningToolIds: ['k1'] });
    }
  }
  const { run } = await setUp({ resumable: true });
  const flow = (steps: ScriptedStep[]) =>
    new SequentialAgent({ name: 'flow', subAgents: [new Caller(), agentOf('last', steps)] });
  const first = await run(flow([]));
  expect(await run(flow([]), { invocationId: first[0]?.invocationId })).toEqual([]);
  const newMessage = { parts: [{ functionResponse: { id: 'k1', response: { n: 7 } } }] };
  expect(textsOf(await run(flow(['the end']), { newMessage }))).toEqual(['got 7', 'the end']);
});
