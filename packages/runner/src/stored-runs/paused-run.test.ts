import {
  BaseAgent,
  type Event,
  getFunctionCalls,
  InvalidMessageError,
  InvalidRequestError,
  RunNotFoundError,
  type InvocationContext,
} from '@eventloom/core';
import { LoopAgent, SequentialAgent } from '@eventloom/multi-agent';
import type { ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { Runner } from '../runner.ts';
import { agentOf, answer, KEY, setUp, textsOf, WAIT, ask, parallelThenLast } from './fixtures/paused-run.ts';

describe('a long-running call pauses the agents around it', () => {
  test('a sequence continues with its other agents after the response', async () => {
    const { run, begin, stored } = await setUp();
    const tree = (first: ScriptedStep[], second: ScriptedStep[]) =>
      new SequentialAgent({ name: 'flow', subAgents: [agentOf('asks', first), agentOf('follows', second)] });
    const { events, invocationId } = await begin(tree([WAIT], []));
    expect(events.flatMap(getFunctionCalls)).toHaveLength(1);
    const rest = await run(tree(['ready'], ['followed']), { invocationId, ...answer('c1') });
    expect(textsOf(rest)).toEqual(['asks: ready', 'follows: followed']);
    expect(new Set((await stored()).map((event) => event.invocationId))).toEqual(new Set([invocationId]));
    await expect(run(tree([], []), { invocationId })).rejects.toThrow(/has ended/);
  });

  test('a loop continues its round and starts the next', async () => {
    const { run, begin } = await setUp();
    const tree = (first: ScriptedStep[], second: ScriptedStep[]) =>
      new LoopAgent({ name: 'loop', maxIterations: 2, subAgents: [agentOf('a', first), agentOf('b', second)] });
    const { invocationId } = await begin(tree(['a1'], [WAIT]));
    const rest = await run(tree(['a2'], ['b1', 'b2']), { invocationId, ...answer('c1') });
    expect(textsOf(rest)).toEqual(['b: b1', 'a: a2', 'b: b2']);
  });

  test('an agent that got control by a transfer keeps it', async () => {
    const { run, begin } = await setUp();
    const handOver = { calls: [{ name: 'transfer_to_agent', args: { agent_name: 'helper' } }] };
    const tree = (front: ScriptedStep[], helper: ScriptedStep[]) =>
      agentOf('front', front, { subAgents: [agentOf('helper', helper)] });
    const { invocationId } = await begin(tree([handOver], [WAIT]));
    expect(textsOf(await run(tree([], ['ready']), { invocationId, ...answer('c1') }))).toEqual(['helper: ready']);
  });

  test('an agent that got control by two transfers keeps it', async () => {
    const { run, begin } = await setUp();
    const handOver = (name: string) => ({ calls: [{ name: 'transfer_to_agent', args: { agent_name: name } }] });
    const tree = (front: ScriptedStep[], helper: ScriptedStep[], expert: ScriptedStep[]) =>
      agentOf('front', front, {
        subAgents: [agentOf('helper', helper, { subAgents: [agentOf('expert', expert)] })],
      });
    const { invocationId } = await begin(tree([handOver('helper')], [handOver('expert')], [WAIT]));
    expect(textsOf(await run(tree([], [], ['ready']), { invocationId, ...answer('c1') }))).toEqual(['expert: ready']);
  });

  test('parallel agents wait for their own responses, and the next agent for all', async () => {
    const { run, begin } = await setUp();
    const { invocationId } = await begin(parallelThenLast([ask('l')], [ask('r')], []));
    expect(textsOf(await run(parallelThenLast([], ['right'], []), { invocationId, ...answer('r') }))).toEqual([
      'right: right',
    ]);
    expect(textsOf(await run(parallelThenLast(['left'], [], ['all']), { invocationId, ...answer('l') }))).toEqual([
      'left: left',
      'last: all',
    ]);
  });

  test('resumed without the response it waits, and a reply with two such calls waits for both', async () => {
    const { run, begin } = await setUp();
    const two = { calls: [WAIT.calls[0], { id: 'c2', name: 'wait' }] } as ScriptedStep;
    const { invocationId } = await begin(agentOf('bot', [two]));
    expect(await run(agentOf('bot', []), { invocationId })).toEqual([]);
    expect(await run(agentOf('bot', []), { invocationId, ...answer('c2') })).toEqual([]);
    expect(textsOf(await run(agentOf('bot', ['both']), { invocationId, ...answer('c1') }))).toEqual(['bot: both']);
  });

  test('a call that needs confirmation runs once with the answer, and the sequence continues', async () => {
    const { run, begin } = await setUp();
    let paid = 0;
    const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => ++paid });
    const tree = (first: ScriptedStep[], second: ScriptedStep[]) =>
      new SequentialAgent({
        name: 'flow',
        subAgents: [agentOf('pays', first, { tools: [pay] }), agentOf('then', second)],
      });
    const { events, invocationId } = await begin(tree([{ calls: [{ id: 'p1', name: 'pay' }] }], []));
    const question = events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation');
    expect(paid).toBe(0);
    expect(await run(tree([], []), { invocationId })).toEqual([]);
    const newMessage = {
      parts: [{ functionResponse: { id: question?.id ?? '', response: { confirmed: true } } }],
    };
    const rest = await run(tree(['paid'], ['done']), { invocationId, newMessage });
    expect(textsOf(rest)).toEqual(['pays: paid', 'then: done']);
    expect(paid).toBe(1);
  });
});

describe('a run that cannot be resumed is refused and nothing is written', () => {
  test.each([
    ['one that the session does not have', 'e-unknown', true, {}, RunNotFoundError],
    ['one that was not resumable', undefined, false, {}, InvalidRequestError],
    [
      'one that gets a message without an answer',
      undefined,
      true,
      { newMessage: { parts: [{ text: 'x' }] } },
      InvalidMessageError,
    ],
    ['one with state and no message', undefined, true, { stateDelta: { a: 1 } }, InvalidRequestError],
  ])('%s', async (_, id, resumable, params, error) => {
    const { run, begin, stored, sessionService } = await setUp();
    const { invocationId } = await begin(agentOf('bot', [WAIT]), resumable);
    const before = await stored();
    await expect(run(agentOf('bot', []), { invocationId: id ?? invocationId, ...params })).rejects.toThrow(error);
    expect(await stored()).toEqual(before);
    await sessionService.releaseLease(await sessionService.acquireLease({ ...KEY, onBusy: 'reject' }));
  });

  test('one that failed', async () => {
    const { run, begin, stored } = await setUp();
    await expect(begin(agentOf('bot', [{ error: new TypeError('broken') }]))).rejects.toThrow('broken');
    const invocationId = (await stored())[0]?.invocationId ?? '';
    await expect(run(agentOf('bot', ['x']), { invocationId })).rejects.toThrow(InvalidRequestError);
  });

  test('one that was rewound', async () => {
    const { run, begin, sessionService } = await setUp();
    const { invocationId } = await begin(agentOf('bot', [WAIT]));
    const runner = new Runner({ appName: 'app', agent: agentOf('bot', []), sessionService });
    await runner.rewindAsync({ userId: 'u', sessionId: 's', rewindBeforeInvocationId: invocationId });
    await expect(run(agentOf('bot', []), { invocationId })).rejects.toThrow(InvalidRequestError);
  });
});

test('a run that is not resumable stores no progress', async () => {
  const { begin, stored } = await setUp();
  await begin(new SequentialAgent({ name: 'flow', subAgents: [agentOf('a', ['one']), agentOf('b', ['two'])] }), false);
  for (const { actions } of await stored()) {
    expect(actions.agentState).toBeUndefined();
    expect(actions.endOfAgent).toBeUndefined();
  }
});

test('earlier model calls count, and a custom agent continues from its checkpoint', async () => {
  const { run, begin } = await setUp();
  class Steps extends BaseAgent {
    override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const done = Number(context.agentState?.['done'] ?? 0);
      for (const [index, child] of this.subAgents.entries()) {
        if (index < done) continue;
        if (index > done) yield context.createEvent({ actions: { agentState: { done: index } } });
        yield* child.runAsync(context);
        if (context.isPaused) return;
      }
    }
  }
  const tree = (a: ScriptedStep[], b: ScriptedStep[]) =>
    new Steps({ name: 'steps', subAgents: [agentOf('a', a), agentOf('b', b)] });
  const { invocationId } = await begin(tree(['a'], [WAIT]));
  const more = run(tree([], ['b', 'c']), { invocationId, ...answer('c1'), runConfig: { maxLlmCalls: 3 } });
  expect(textsOf(await more)).toEqual(['b: b']);
});
