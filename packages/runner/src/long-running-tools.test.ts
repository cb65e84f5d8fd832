import type { Event, ToolContext } from '@eventloom/core';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, responsesOf, scenario } from './fixtures/scenario.ts';

// Long-running tools.

function answering(...ids: string[]) {
  return { role: 'user', parts: ids.map((id) => ({ functionResponse: { id, response: { status: `done ${id}` } } })) };
}

function later(name: string, first?: unknown): LongRunningFunctionTool {
  return new LongRunningFunctionTool({ name, description: '', execute: () => first });
}

const SAY = { userId: 'u', sessionId: 's' };

test.each([undefined, null])(
  'a long-running tool that returns %s leaves its call open, and the agent waits',
  async (first) => {
    const { model, run } = await scenario({
      model: [{ calls: [call('approve', {}, 'c1')] }],
      agent: { tools: [later('approve', first)] },
    });
    const events = await run();
    expect(events).toHaveLength(1);
    expect(events[0]?.longRunningToolIds).toEqual(['c1']);
    model.assertConsumed();
  },
);

test('a long-running tool without a first response that skips the summary yields no event', async () => {
  const execute = (_: unknown, { actions }: ToolContext): undefined => {
    actions.skipSummarization = true;
  };
  const tool = new LongRunningFunctionTool({ name: 'approve', description: '', execute });
  const { run, stored } = await scenario({ model: [{ calls: [call('approve')] }], agent: { tools: [tool] } });
  expect(await run()).toHaveLength(1);
  expect(await stored()).toHaveLength(2);
});

test('the later response is placed next to its call in the request', async () => {
  const { model, runner, run } = await scenario({
    model: [{ calls: [call('approve', {}, 'c1')] }, 'Approved.'],
    agent: { tools: [later('approve')] },
  });
  await run();
  const events = await runner.run({ ...SAY, newMessage: answering('c1') });
  expect(events.map((event) => event.content?.parts?.[0]?.text)).toEqual(['Approved.']);
  expect(model.requests[1]?.request.contents.slice(1)).toEqual([
    { role: 'model', parts: [{ functionCall: call('approve', {}, 'c1') }] },
    { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'approve', response: { status: 'done c1' } } }] },
  ]);
});

test('a first status goes to the model, and the later response replaces it and ends the request', async () => {
  const steps = [{ calls: [call('approve', {}, 'c1')] }, 'I asked.', 'Approved.', 'Welcome.'];
  const { model, runner, run } = await scenario({
    model: steps,
    agent: { tools: [later('approve', { status: 'pending' })] },
  });
  const events = await run();
  expect(responsesOf(events[1])).toEqual([{ status: 'pending' }]);
  expect(events).toHaveLength(3);
  await runner.run({ ...SAY, newMessage: answering('c1') });
  const answered = [
    { role: 'model', parts: [{ functionCall: call('approve', {}, 'c1') }] },
    { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'approve', response: { status: 'done c1' } } }] },
  ];
  expect(model.requests[2]?.request.contents.slice(1)).toEqual(answered);
  await run();
  expect(model.requests[3]?.request.contents.slice(1, -1)).toEqual([
    ...answered,
    { role: 'model', parts: [{ text: 'I asked.' }] },
    { role: 'model', parts: [{ text: 'Approved.' }] },
  ]);
});

test('the model is called when both of two open calls have responses', async () => {
  const steps = [{ calls: [call('approve', {}, 'c1'), call('sign', {}, 'c2')] }, 'Both done.'];
  const { model, runner, run } = await scenario({ model: steps, agent: { tools: [later('approve'), later('sign')] } });
  expect((await run())[0]?.longRunningToolIds).toEqual(['c1', 'c2']);
  expect(await runner.run({ ...SAY, newMessage: answering('c2') })).toEqual([]);
  expect(model.calls).toBe(1);
  expect(await runner.run({ ...SAY, newMessage: answering('c1') })).toHaveLength(1);
  expect(responsesOf({ content: model.requests[1]?.request.contents[2] } as Event)).toEqual([
    { status: 'done c1' },
    { status: 'done c2' },
  ]);
});

test('two open calls can be answered in one message', async () => {
  const steps = [{ calls: [call('approve', {}, 'c1'), call('sign', {}, 'c2')] }, 'Both done.'];
  const { runner, run } = await scenario({ model: steps, agent: { tools: [later('approve'), later('sign')] } });
  await run();
  expect(await runner.run({ ...SAY, newMessage: answering('c2', 'c1') })).toHaveLength(1);
});

test('a call beside a long-running one is answered immediately, and the agent still waits', async () => {
  const quick = new FunctionTool({ name: 'quick', description: '', execute: () => 1 });
  const steps = [{ calls: [call('approve', {}, 'c1'), call('quick', {}, 'c2')] }, 'ok'];
  const { model, runner, run } = await scenario({ model: steps, agent: { tools: [later('approve'), quick] } });
  const events = await run();
  expect(events).toHaveLength(2);
  expect(responsesOf(events[1])).toEqual([{ result: 1 }]);
  expect(model.calls).toBe(1);
  expect(await runner.run({ ...SAY, newMessage: answering('c1') })).toHaveLength(1);
});

test('a call left open by a failed run does not stop the agent', async () => {
  const started = Promise.withResolvers<void>();
  const hangs = new FunctionTool({
    name: 'hangs',
    description: '',
    execute: () => {
      started.resolve();
      return new Promise(() => undefined);
    },
  });
  const steps = [{ calls: [call('hangs', {}, 'c1'), call('approve', {}, 'c2')] }, 'Approved.'];
  const { runner } = await scenario({ model: steps, agent: { tools: [hangs, later('approve')] } });
  const controller = new AbortController();
  const running = runner.run({ ...SAY, newMessage: { parts: [{ text: 'hi' }] }, abortSignal: controller.signal });
  await started.promise;
  controller.abort();
  await expect(running).rejects.toThrow('aborted');
  expect(await runner.run({ ...SAY, newMessage: answering('c2') })).toHaveLength(1);
});

test('another message from the user is answered, and the call stays open', async () => {
  const steps = [{ calls: [call('approve', {}, 'c1')] }, 'Still waiting.', 'Approved.'];
  const { runner, run } = await scenario({ model: steps, agent: { tools: [later('approve')] } });
  await run();
  expect((await run())[0]?.content?.parts?.[0]?.text).toBe('Still waiting.');
  expect(await runner.run({ ...SAY, newMessage: answering('c1') })).toHaveLength(1);
});

test('state changes of a long-running tool are stored, also without a response', async () => {
  const tool = new LongRunningFunctionTool({
    name: 'approve',
    description: '',
    execute: (_, { state }) => state.set('asked', true),
  });
  const { run, state } = await scenario({ model: [{ calls: [call('approve', {}, 'c1')] }], agent: { tools: [tool] } });
  const events = await run();
  expect(events[1]).toMatchObject({ author: 'bot', actions: { stateDelta: { asked: true } } });
  expect(events[1]).not.toHaveProperty('content');
  expect(await state()).toEqual({ asked: true });
});
