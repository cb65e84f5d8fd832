import { type Event, getFunctionCalls, getStructuredOutput } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { dying } from './stored-runs/fixtures/dying-service.ts';
import { responsesOf, scenario, scripted, textOf, transferTo } from './fixtures/scenario.ts';

const finish = (args: Record<string, unknown>, id = 'f1') => ({ calls: [{ id, name: 'finish_task', args }] });
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

test('a task agent works until its model calls finish_task, whose arguments are the output', async () => {
  const look = new FunctionTool({ name: 'look', description: '', execute: () => 'Rome' });
  const { run, state, model } = await scenario({
    model: [{ calls: [{ id: 'c1', name: 'look' }] }, finish({ city: 'Rome' })],
    agent: { mode: 'task', outputSchema: CITY, outputKey: 'found', tools: [look] },
  });
  const last = (await run()).at(-1) as Event;
  expect(responsesOf(last)).toEqual([{ result: 'Task completed.' }]);
  expect(last).toMatchObject({ output: { city: 'Rome' }, nodeInfo: { messageAsOutput: true } });
  expect(getStructuredOutput(last)).toEqual({ city: 'Rome' });
  expect(await state()).toEqual({ found: { city: 'Rome' } });
  const { request } = model.requests[0] ?? expect.unreachable();
  expect(Object.keys(request.toolsDict)).toEqual(['look', 'finish_task']);
  expect(request.config.responseJsonSchema).toBeUndefined();
  model.assertConsumed();
});

test('a task without a schema has a summary as its result', async () => {
  const { run } = await scenario({ model: [finish({ result: 'All done.' })], agent: { mode: 'task' } });
  expect((await run()).at(-1)?.output).toEqual({ result: 'All done.' });
});

test('a schema that is not an object is wrapped in the argument result', async () => {
  const { run } = await scenario({
    model: [finish({ result: 3 })],
    agent: { mode: 'task', outputSchema: { type: 'number' } },
  });
  expect((await run()).at(-1)?.output).toBe(3);
});

test('a result that does not match the schema goes back to the model', async () => {
  const { run } = await scenario({
    model: [finish({ town: 'Rome' }), finish({ city: 'Rome' }, 'f2')],
    agent: { mode: 'task', outputSchema: CITY },
  });
  const events = await run();
  expect(responsesOf(events)[0]).toMatchObject({ error: expect.stringContaining('city') });
  expect(events.at(-1)?.output).toEqual({ city: 'Rome' });
});

test('a task agent that asks a question gets the next message, and its parent gets the message after finish_task', async () => {
  const booker = scripted('booker', ['Which city?', finish({ result: 'booked' })], { mode: 'task' });
  const lead = scripted('lead', [transferTo('booker'), 'What else?'], { subAgents: [booker] });
  const { run } = await scenario({ agent: lead });
  expect((await run('book')).at(-1)).toMatchObject({ author: 'booker' });
  expect((await run('Rome')).at(-1)).toMatchObject({ author: 'booker', output: { result: 'booked' } });
  expect((await run('thanks')).at(-1)).toMatchObject({ author: 'lead' });
});

test('an agent with single_turn sees only the current turn, and its answer is its output', async () => {
  const model = new ScriptedModel(['one', 'two']);
  const { run } = await scenario({ agent: new LlmAgent({ name: 'bot', model, mode: 'single_turn' }) });
  expect((await run('first')).at(-1)).toMatchObject({ output: 'one', nodeInfo: { messageAsOutput: true } });
  await run('second');
  expect(model.requests[1]?.request.contents).toEqual([{ role: 'user', parts: [{ text: 'second' }] }]);
});

test('an agent tool gives the output of a task agent to its caller', async () => {
  const task = scripted('task', [finish({ city: 'Rome' })], { mode: 'task', outputSchema: CITY });
  const { run } = await scenario({
    model: [{ calls: [{ id: 'c1', name: 'task', args: { request: 'go' } }] }, 'ok'],
    agent: { tools: [new AgentTool({ agent: task })] },
  });
  expect(responsesOf(await run())).toEqual([{ city: 'Rome' }]);
});

test('an unknown mode is refused', () => {
  expect(() => new LlmAgent({ name: 'bot', mode: 'chat' as 'task' })).toThrow(
    'mode: expected one of task, single_turn',
  );
});

test('an agent sees the events of its own isolation scope and those without one', async () => {
  const model = new ScriptedModel(['seen', 'seen too']);
  const scoped = new LlmAgent({ name: 'scoped', model });
  const { run, stored } = await scenario({
    async *agent(context) {
      const said = (text: string) => ({ role: 'model', parts: [{ text }] });
      yield context.createEvent({ content: said('of another'), isolationScope: 'other' });
      yield* context.runAgent(scoped, { isolationScope: 'own' });
      yield* context.runAgent(new LlmAgent({ name: 'free', model }));
    },
  });
  await run('hi');
  expect((await stored()).map((event) => [textOf(event), event.isolationScope])).toEqual([
    ['hi', undefined],
    ['of another', 'other'],
    ['seen', 'own'],
    ['seen too', undefined],
  ]);
  for (const { request } of model.requests)
    expect(request.contents).toEqual([{ role: 'user', parts: [{ text: 'hi' }] }]);
});

describe.each([false, true])('a task whose process is killed right after the commit: %s', (isAfter) => {
  test.each([1, 2, 3, 4, 5])(
    'commit %i: the resumed run has the same output, and its model finishes the task once',
    async (at) => {
      const agent = { mode: 'task', outputSchema: CITY, outputKey: 'found' } as const;
      const { sessionService, restart, stored, state } = await scenario({ agent, resumable: true });
      const killed = restart({
        model: [finish({ city: 'Rome' })],
        sessionService: dying(sessionService, at, isAfter).service,
      });
      await expect(killed.run()).rejects.toThrow('killed');
      const [first] = await stored();
      if (!first) return;
      const { invocationId } = first;
      const { run } = restart({ model: [finish({ city: 'Rome' })] });
      const hasEnded = (await stored()).at(-1)?.object === 'runner.end';
      if (!hasEnded) await run(undefined, { newMessage: undefined, invocationId });
      const events = await stored();
      expect(events.filter(({ output }) => output !== undefined).map(({ output }) => output)).toEqual([
        { city: 'Rome' },
      ]);
      expect(events.flatMap(getFunctionCalls)).toHaveLength(1);
      expect(await state()).toEqual({ found: { city: 'Rome' } });
    },
  );
});
