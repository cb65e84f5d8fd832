import { getFunctionCalls, InvalidRequestError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END, START, stateAfter, StateGraph } from './index.ts';
import { reviewGraph, setUp } from './fixtures/review-graph.ts';
import { askingGraph, waiting } from './fixtures/waiting-run.ts';
import { KEY, scenario } from '../../runner/src/fixtures/scenario.ts';

test('a fork continues differently after its step and repeats no earlier node', async () => {
  const ran: string[] = [];
  const { sessionService, runner, invocationId, answer, stored, asked } = await setUp(ran);
  await answer('s', asked, 'yes');
  const before = await stored();
  const fork = await reviewGraph().fork({
    sessionService,
    ...KEY,
    invocationId,
    step: 2,
    newSessionId: 'fork',
    update: { round: 7, notes: ['mine'] },
  });
  expect(fork.state).toEqual({ other: 1, 'user:name': 'Ann', round: 7 });
  ran.length = 0;
  const events = await runner.run({ userId: 'u', sessionId: 'fork', invocationId });
  expect(ran).toEqual(['draft 7', 'critique 8']);
  const end = await answer('fork', events, 'no');
  expect(end.findLast(({ actions }) => actions.agentState?.['run'] === 'end')?.actions.agentState?.['output']).toEqual({
    input: 'no',
    notes: ['mine', 'note 6'],
    round: 8,
  });
  expect(await stored()).toEqual(before);
  expect((await sessionService.getSession(KEY))?.state['round']).toBe(2);
});

test.each([0, 1, 3, 4, 5])('a fork at step %s has the state that the session had after it', async (step) => {
  const { sessionService, invocationId, answer, asked, history } = await setUp();
  await answer('s', asked, 'yes');
  const [whole] = await history();
  const fork = await reviewGraph().fork({ sessionService, ...KEY, invocationId, step, newSessionId: 'fork' });
  expect(fork.state).toEqual({
    other: 1,
    'user:name': 'Ann',
    round: whole && stateAfter(whole, step)['round'],
  });
  const [forked] = await history('fork');
  expect(forked?.steps.filter(({ open }) => open.length === 0)).toEqual(whole?.steps.slice(0, step));
});

test('fork throws for a missing or incomplete step and for an invalid update', async () => {
  const { sessionService, invocationId } = await setUp();
  const fork = (params: object) =>
    reviewGraph().fork({ sessionService, ...KEY, invocationId, step: 1, newSessionId: 'fork', ...params });
  await expect(fork({ step: 9 })).rejects.toThrow(InvalidRequestError);
  await expect(fork({ step: 5 })).rejects.toThrow(/no step 5 that has completed/);
  await expect(fork({ invocationId: 'e-none' })).rejects.toThrow(/has no run of the graph "review"/);
  await expect(fork({ update: { notes: 'x' } })).rejects.toThrow(/"notes"/);
  await expect(fork({ update: { nothing: 1 } })).rejects.toThrow(/"nothing"/);
  expect(await sessionService.getSession({ ...KEY, sessionId: 'fork' })).toBeUndefined();
});

test('a fork repeats tool calls after its step, and none before it', async () => {
  const calls: string[] = [];
  const tool = (name: string) => new FunctionTool({ name, description: '', execute: () => void calls.push(name) });
  const agent = new StateGraph({ name: 'g' })
    .addNode('one', tool('one'))
    .addNode('none', () => ({}))
    .addNode('two', tool('two'))
    .addEdge(START, 'none')
    .addEdge('none', 'one' as never)
    .addEdge('one' as never, 'two' as never)
    .addEdge('two' as never, END)
    .compile();
  const { runner, run, sessionService } = await scenario({ agent, resumable: true });
  const [first] = await run('x');
  const invocationId = first?.invocationId ?? '';
  await agent.fork({ sessionService, ...KEY, invocationId, step: 2, newSessionId: 'fork' });
  await runner.run({ userId: 'u', sessionId: 'fork', invocationId });
  expect(calls).toEqual(['one', 'two', 'two']);
});

test('a graph that a model called asks again in a fork from before the question', async () => {
  const asking = askingGraph();
  const agent = new LlmAgent({
    name: 'caller',
    model: new ScriptedModel([{ calls: [{ name: 'asking', args: { request: 'x' } }] }, 'said yes', 'said no']),
    tools: [new AgentTool({ agent: asking })],
  });
  const { sessionService, runner, invocationId, query } = await waiting(agent);
  const answer = async (sessionId: string, result: string) => {
    const { events = [] } = (await sessionService.getSession({ ...KEY, sessionId })) ?? {};
    const question = events.flatMap(getFunctionCalls).findLast(({ name }) => name === 'adk_request_input');
    const newMessage = { parts: [{ functionResponse: { id: question?.id ?? '', response: { result } } }] };
    return runner.run({ userId: 'u', sessionId, newMessage });
  };
  await answer('s', 'yes');
  expect(asking.history(await query())).toMatchObject([{ status: 'finished', output: 'yes' }]);
  await asking.fork({ sessionService, ...KEY, invocationId, step: 1, newSessionId: 'fork' });
  const again = await runner.run({ userId: 'u', sessionId: 'fork', invocationId });
  expect(again.flatMap(getFunctionCalls)).toMatchObject([{ name: 'adk_request_input' }]);
  expect(JSON.stringify(await answer('fork', 'no'))).toContain('"result":"no"');
});

test('a fork omits state that was removed before its step, and keeps state that was removed later', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('one', (_: unknown, context) => context.callbackContext.state.remove('first'))
    .addNode('two', (_: unknown, context) => context.callbackContext.state.remove('second'))
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .addEdge('two', END)
    .compile();
  const { run, sessionService } = await scenario({ agent, resumable: true, state: { first: 1, second: 2 } });
  const [start] = await run('x');
  const invocationId = start?.invocationId ?? '';
  const fork = await agent.fork({ sessionService, ...KEY, invocationId, step: 1, newSessionId: 'fork' });
  expect(fork.state).toEqual({ second: 2 });
});

test('fork throws for a run that is not resumable', async () => {
  const simple = new StateGraph({ name: 'simple' })
    .addNode('n', () => 1)
    .addEdge(START, 'n')
    .addEdge('n', END)
    .compile();
  const { run, sessionService } = await scenario({ agent: simple });
  const [start] = await run('x');
  const fork = simple.fork({
    sessionService,
    ...KEY,
    invocationId: start?.invocationId ?? '',
    step: 1,
    newSessionId: 'fork',
  });
  await expect(fork).rejects.toThrow(InvalidRequestError);
});
