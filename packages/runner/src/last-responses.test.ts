import { type Event, getFunctionResponses } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { AgentTool, ParallelAgent } from '@eventloom/multi-agent';
import { Gate } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { CustomAgent, textEvent } from './fixtures/custom-agent.ts';
import { call, scenario, scripted } from './fixtures/scenario.ts';

const asking = (name: string, id: string) => ({ calls: [call(name, { request: 'x' }, id)] });
const toolOf = (agent: CustomAgent | ReturnType<typeof scripted> | ParallelAgent) => new AgentTool({ agent });
const answered = (events: readonly Event[]) =>
  events.flatMap((event) =>
    event.author === 'user' ? [] : getFunctionResponses(event).map(({ id, response }) => [id, response]),
  );

test('an approved call gets a response when the agent around its own fails before it starts its own again', async () => {
  const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  const leadIn = (process: number) => {
    const asks = scripted('asks', [asking('pay', 'c9')], { tools: [pay] });
    const fails = new CustomAgent('fails', async function* (context) {
      if (process === 2) throw new TypeError('broken');
      context.pause();
      yield textEvent(context, 'not yet');
    });
    const mid = scripted('mid', [asking('asks', 'c2')], { tools: [toolOf(asks)] });
    const both = new ParallelAgent({ name: 'both', subAgents: [fails, mid] });
    const calls = { calls: [...asking('both', 'c1').calls, call('wait', {}, 'c3')] };
    return scripted('lead', process === 1 ? [calls] : [], { tools: [toolOf(both), wait] });
  };
  const first = await scenario({ agent: leadIn(1), resumable: true });
  const events = await first.run();
  const question = events.findLast(({ longRunningToolIds, branch }) => longRunningToolIds && branch)
    ?.longRunningToolIds?.[0];
  const { run, stored } = first.restart({ agent: leadIn(2) });
  await run({ functionResponse: { id: question ?? '', response: { confirmed: true } } });
  const ends = answered(await stored()).filter(([, response]) => /interrupted|broken/.test(JSON.stringify(response)));
  expect(ends.map(([id]) => id)).toEqual(['c2', 'c9', 'c1']);
  expect(new Calls(await stored()).waiting.map(({ id }) => id)).toEqual(['c3']);
});

test('an agent that runs longer than its caller stores nothing more, and its call has one response', async () => {
  const gate = new Gate();
  const slow = new FunctionTool({ name: 'slow', description: '', execute: () => gate.pass() });
  const stubborn = scripted('stubborn', [asking('slow', 'c9'), 'late'], { tools: [slow] });
  let late: Promise<unknown> = Promise.resolve();
  const launch = new FunctionTool({
    name: 'launch',
    description: '',
    execute: async (_, toolContext) => {
      late = Promise.allSettled([toolOf(stubborn).runAsync({ args: { request: 'x' }, toolContext })]);
      await gate.reached;
      return 'started';
    },
  });
  const finish = new FunctionTool({
    name: 'finish',
    description: '',
    execute: async () => {
      gate.open();
      await late;
    },
  });
  const mid = scripted('mid', [asking('launch', 'c2'), 'mid is done'], { tools: [launch] });
  const lead = scripted('lead', [asking('mid', 'c1'), asking('finish', 'c3'), 'done'], {
    tools: [toolOf(mid), finish],
  });
  const { run, stored } = await scenario({ agent: lead });
  await run();
  expect(answered(await stored())).toEqual([
    ['c2', { result: 'started' }],
    ['c9', { error: 'interrupted', message: expect.any(String) }],
    ['c1', { result: 'mid is done' }],
    ['c3', { result: null }],
  ]);
});
