import { BaseAgent, HandOverLimitError, LlmCallLimitError, RunAbortedError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { CustomAgent, type Script } from './fixtures/custom-agent.ts';
import { scenario, scripted, summaryOf, transferTo } from './fixtures/scenario.ts';

/** Makes two custom agents that transfer to each other without an end. */
function pingPong(): BaseAgent {
  let handOvers = 0;
  const handTo = (name: string): Script =>
    async function* (context) {
      if (++handOvers > 10_000) throw new RangeError('nothing ends it');
      yield context.createEvent({ actions: { transferToAgent: name } });
    };
  const subAgents = [new CustomAgent('ping', handTo('pong')), new CustomAgent('pong', handTo('ping'))];
  return new CustomAgent('top', handTo('ping'), { subAgents });
}

test('transfers continue until maxLlmCalls is reached', async () => {
  const ping: LlmAgent = scripted(
    'ping',
    Array.from({ length: 9 }, () => transferTo('pong')),
  );
  const pong: LlmAgent = scripted(
    'pong',
    Array.from({ length: 9 }, () => transferTo('ping')),
  );
  const { run, stored } = await scenario({ agent: scripted('top', [transferTo('ping')], { subAgents: [ping, pong] }) });
  await expect(run('hi', { runConfig: { maxLlmCalls: 6 } })).rejects.toBeInstanceOf(LlmCallLimitError);
  const events = await stored();
  expect(events.filter((event) => event.actions.transferToAgent)).toHaveLength(6);
  expect(events.at(-1)).toMatchObject({ author: 'pong', errorCode: 'LLM_CALL_LIMIT' });
});

test.each([
  ['at the top', pingPong],
  ['in a sequence', () => new SequentialAgent({ name: 'steps', subAgents: [pingPong()] })],
])('agents without a model that transfer to each other %s without end fail the run', async (_, create) => {
  const { run, stored } = await scenario({ agent: create() });
  await expect(run('hi', { runConfig: { maxLlmCalls: 80 } })).rejects.toBeInstanceOf(HandOverLimitError);
  const events = await stored();
  expect(events.filter((event) => event.actions.transferToAgent)).toHaveLength(81);
  expect(events.at(-1)).toMatchObject({ errorCode: 'HAND_OVER_LIMIT' });
});

test('the limit of transfers counts those since the last model call', async () => {
  const rounds = 3;
  let round = 0;
  const relay = new CustomAgent('relay', async function* (context) {
    if (++round < rounds) yield context.createEvent({ actions: { transferToAgent: 'lead' } });
  });
  const lead = scripted(
    'lead',
    Array.from({ length: rounds }, () => transferTo('relay')),
    { subAgents: [relay] },
  );
  const { run } = await scenario({ agent: lead });
  const events = await run('hi', { runConfig: { maxLlmCalls: rounds, announceTransfers: true } });
  expect(events.filter((event) => event.object === 'agent.transfer')).toHaveLength(5);
});

test('unlimited transfers do not block the process and can be aborted', async () => {
  const controller = new AbortController();
  const { runner } = await scenario({ agent: pingPong() });
  const running = runner.run({
    userId: 'u',
    sessionId: 's',
    newMessage: { parts: [{ text: 'hi' }] },
    runConfig: { maxLlmCalls: 0 },
    abortSignal: controller.signal,
  });
  setTimeout(() => controller.abort());
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
});

test('of several transfers in one reply the first runs, and the others are answered with an error', async () => {
  const note = new FunctionTool({
    name: 'go',
    description: '',
    execute: (_, { actions, state }) => {
      state.set('noted', true);
      actions.transferToAgent = 'second';
    },
  });
  const calls = [
    { name: 'transfer_to_agent', args: { agent_name: 'first' } },
    { name: 'go' },
    { name: 'transfer_to_agent', args: { agent_name: 'second' } },
  ];
  const subAgents = [scripted('first', ['done']), scripted('second', [])];
  const { run } = await scenario({ agent: scripted('lead', [{ calls }], { tools: [note], subAgents }) });
  const events = await run();
  const error = 'cannot transfer to "second": an earlier call transfers to "first"';
  expect(events[1]?.content?.parts?.map((part) => part.functionResponse?.response)).toEqual([
    { result: 'Transfer queued' },
    { error },
    { error },
  ]);
  expect(events[1]?.actions).toMatchObject({ transferToAgent: 'first', stateDelta: { noted: true } });
  expect(summaryOf(events.at(-1) ?? expect.unreachable())).toBe('first: done');
});
