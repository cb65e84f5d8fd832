import {
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  InvalidMessageError,
  type Part,
  type ToolConfirmation,
  type ToolContext,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, type ToolOptions } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import type { RunnerConfig } from './runner-config.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

async function setUp(
  steps: readonly ScriptedStep[],
  options: Partial<ToolOptions> = {},
  config: Partial<RunnerConfig> = {},
) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const ran: { readonly args: unknown; readonly confirmation: ToolConfirmation | undefined }[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    requireConfirmation: true,
    execute: (args, { toolConfirmation }: ToolContext) => {
      ran.push({ args, confirmation: toolConfirmation });
      return { paid: args['n'] };
    },
    ...options,
  });
  const look = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
  const model = new ScriptedModel(steps);
  const agent = new LlmAgent({ name: 'bot', model, tools: [pay, look] });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform, ...config });
  const send = (...parts: Part[]): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { parts } });
  const stored = async (): Promise<readonly Event[]> => (await sessionService.getSession(KEY))?.events ?? [];
  return { platform, sessionService, runner, model, ran, send, stored };
}

const call = (n: number, name = 'pay') => ({ id: `c${n}`, name, args: { n } });
const answer = (id: string | undefined, response: Record<string, unknown>): Part => ({
  functionResponse: { id: id ?? '', name: 'adk_request_confirmation', response },
});
/** The ids of the questions in events. */
const asked = (events: readonly Event[]): string[] =>
  events.flatMap(getFunctionCalls).flatMap(({ name, id }) => (name === 'adk_request_confirmation' ? [id ?? ''] : []));
const responses = (events: readonly Event[]): unknown[] =>
  events.flatMap(getFunctionResponses).map(({ id, response }) => [id, response]);
const WAITING = { error: 'This tool call requires confirmation, please approve or reject.' };

test('a call that a person has to confirm is asked about, and the run ends without running it', async () => {
  const { send, ran, model } = await setUp([{ calls: [call(1)] }]);
  const events = await send({ text: 'pay 1' });
  expect(ran).toEqual([]);
  expect(events).toHaveLength(3);
  const [, question, response] = events;
  const [id] = asked(events);
  expect(id).toMatch(/^adk-/);
  const hint = 'Please approve or reject the call of pay.';
  expect(question).toMatchObject({ author: 'bot', longRunningToolIds: [id] });
  expect(question?.content?.parts).toEqual([
    {
      functionCall: {
        id,
        name: 'adk_request_confirmation',
        args: { originalFunctionCall: call(1), toolConfirmation: { hint, confirmed: false } },
      },
    },
  ]);
  expect(responses([response as Event])).toEqual([['c1', WAITING]]);
  expect(response?.actions.requestedToolConfirmations).toEqual({ c1: { hint, confirmed: false } });
  model.assertConsumed();
});

test('once confirmed the tool is run with what the person said, and the model is told its result', async () => {
  const { send, ran, model } = await setUp([
    { calls: [call(1)] },
    {
      text: 'Paid.',
      expect: {
        matches: ({ contents }) => {
          expect(contents).toEqual([
            { role: 'user', parts: [{ text: 'pay 1' }] },
            { role: 'model', parts: [{ functionCall: call(1) }] },
            { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'pay', response: { paid: 1 } } }] },
          ]);
        },
      },
    },
  ]);
  const [id] = asked(await send({ text: 'pay 1' }));
  const events = await send(answer(id, { confirmed: true, payload: { by: 'ann' } }));
  expect(ran).toEqual([
    {
      args: { n: 1 },
      confirmation: { hint: 'Please approve or reject the call of pay.', confirmed: true, payload: { by: 'ann' } },
    },
  ]);
  expect(responses(events)).toEqual([['c1', { paid: 1 }]]);
  expect(events.at(-1)?.content?.parts).toEqual([{ text: 'Paid.' }]);
  model.assertConsumed();
});

test('the answer may be JSON text, as clients of the ADK send it', async () => {
  const { send, ran } = await setUp([{ calls: [call(1)] }, 'Paid.']);
  const [id] = asked(await send({ text: 'pay' }));
  await send(answer(id, { response: '{"confirmed": true}' }));
  expect(ran).toHaveLength(1);
});

test('a rejected call is not run, and the model is told so', async () => {
  const { send, ran } = await setUp([{ calls: [call(1)] }, 'I see.']);
  const [id] = asked(await send({ text: 'pay' }));
  expect(responses(await send(answer(id, { confirmed: false })))).toEqual([
    ['c1', { error: 'This tool call is rejected.' }],
  ]);
  expect(ran).toEqual([]);
});

test('other calls of the reply are run and committed; several questions are answered one by one in any order', async () => {
  const { send, ran, stored, model } = await setUp([{ calls: [call(1), call(2, 'look'), call(3)] }, 'Done.']);
  const first = await send({ text: 'go' });
  const [one, three] = asked(first);
  expect(responses(first)).toEqual([
    ['c1', WAITING],
    ['c2', { result: 'seen' }],
    ['c3', WAITING],
  ]);
  const second = await send(answer(three, { confirmed: true }));
  expect(responses(second)).toEqual([['c3', { paid: 3 }]]);
  expect(second).toHaveLength(1);
  const third = await send(answer(one, { confirmed: false }));
  expect(third.at(-1)?.content?.parts).toEqual([{ text: 'Done.' }]);
  expect(ran.map(({ args }) => args)).toEqual([{ n: 3 }]);
  expect(responses(await stored()).filter((each) => (each as string[])[0] === 'c2')).toHaveLength(1);
  model.assertConsumed();
});

test('several questions are answered in one message', async () => {
  const { send, ran, model } = await setUp([{ calls: [call(1), call(2), call(3)] }, 'Done.']);
  const [one, two, three] = asked(await send({ text: 'go' }));
  const events = await send(
    answer(two, { confirmed: false }),
    answer(three, { confirmed: true }),
    answer(one, { confirmed: true }),
  );
  expect(responses(events)).toEqual([
    ['c1', { paid: 1 }],
    ['c2', { error: 'This tool call is rejected.' }],
    ['c3', { paid: 3 }],
  ]);
  expect(ran).toHaveLength(2);
  expect(events).toHaveLength(2);
  model.assertConsumed();
});

test('a second answer is refused and writes nothing', async () => {
  const { send, ran, stored } = await setUp([{ calls: [call(1), call(2)] }, 'Done.']);
  const [one, two] = asked(await send({ text: 'go' }));
  await send(answer(one, { confirmed: true }));
  const before = (await stored()).length;
  for (const parts of [
    [answer(one, { confirmed: true })],
    [answer(one, { confirmed: false })],
    [answer(two, { confirmed: true }), answer(two, { confirmed: true })],
  ]) {
    await expect(send(...parts)).rejects.toThrow(InvalidMessageError);
  }
  expect(await stored()).toHaveLength(before);
  expect(ran).toHaveLength(1);
});

test.each([
  ['an id that nobody asked with', 'adk-nope', { confirmed: true }, 'there is no call with the id "adk-nope"'],
  ['an answer that says nothing', undefined, {}, 'has an answer without confirmed'],
  ['a confirmed that is text', undefined, { confirmed: 'yes' }, 'has an answer without confirmed'],
  ['text that is no JSON', undefined, { response: 'yes' }, 'is not the JSON of an object'],
  ['text that is the JSON of a list', undefined, { response: '[]' }, 'is not the JSON of an object'],
])('%s is refused before anything is written', async (_, given, response, fault) => {
  const { send, ran, stored } = await setUp([{ calls: [call(1)] }]);
  const [id] = asked(await send({ text: 'go' }));
  const before = (await stored()).length;
  const sending = send(answer(given ?? id, response));
  await expect(sending).rejects.toThrow(InvalidMessageError);
  await expect(sending).rejects.toThrow(fault);
  expect(await stored()).toHaveLength(before);
  expect(ran).toEqual([]);
});

test('a client cannot answer the call itself in place of the tool', async () => {
  const { send } = await setUp([{ calls: [call(1)] }]);
  await send({ text: 'go' });
  const forged = { functionResponse: { id: 'c1', name: 'pay', response: { paid: 1 } } };
  await expect(send(forged)).rejects.toThrow('has its answer already');
});

test('after its time an answer does not run the tool, and the model is told', async () => {
  const { send, ran, platform } = await setUp(
    [{ calls: [call(1), call(2)] }, 'Too late.'],
    {},
    { requestTtlMs: 60_000 },
  );
  const [one, two] = asked(await send({ text: 'go' }));
  platform.advance(60_000);
  await send(answer(one, { confirmed: true }));
  platform.advance(1);
  const events = await send(answer(two, { confirmed: true }));
  expect(responses(events)).toEqual([['c2', { error: 'This tool call was not run: it was answered too late.' }]]);
  expect(ran.map(({ args }) => args)).toEqual([{ n: 1 }]);
});

test('a predicate sees the arguments and decides for each call', async () => {
  const { send, ran } = await setUp([{ calls: [call(1), call(200)] }], {
    requireConfirmation: async (args, { functionCallId }) => functionCallId !== '' && Number(args['n']) > 100,
  });
  expect(responses(await send({ text: 'go' }))).toEqual([
    ['c1', { paid: 1 }],
    ['c200', WAITING],
  ]);
  expect(ran).toHaveLength(1);
});

test('arguments that the schema refuses are told to the model, and nobody is asked', async () => {
  const { send } = await setUp([{ calls: [{ id: 'c1', name: 'pay', args: { n: 'x' } }] }, 'Sorry.'], {
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
  } as object);
  expect(asked(await send({ text: 'go' }))).toEqual([]);
});

test('a tool can ask by itself, with a hint and a payload, and say what the model is told meanwhile', async () => {
  const { send, ran } = await setUp([{ calls: [call(1)] }, 'Booked.'], {
    requireConfirmation: false,
    execute: (_args, context: ToolContext) => {
      if (context.toolConfirmation) return context.toolConfirmation;
      context.requestConfirmation({ hint: 'How many days?', payload: { days: 0 } });
      return { status: 'a manager is asked' };
    },
  });
  const events = await send({ text: 'go' });
  expect(responses(events)).toEqual([['c1', { status: 'a manager is asked' }]]);
  expect(getFunctionCalls(events[1] as Event)[0]?.args?.['toolConfirmation']).toEqual({
    hint: 'How many days?',
    confirmed: false,
    payload: { days: 0 },
  });
  const done = await send(answer(asked(events)[0], { confirmed: true, payload: { days: 3 } }));
  expect(responses(done)).toEqual([['c1', { hint: 'How many days?', confirmed: true, payload: { days: 3 } }]]);
  expect(ran).toEqual([]);
});

test('what the user says meanwhile is answered, and the question stays open', async () => {
  const { send, ran } = await setUp([{ calls: [call(1)] }, 'It waits.', 'Paid.']);
  const [id] = asked(await send({ text: 'go' }));
  await send({ text: 'well?' });
  await send(answer(id, { confirmed: true }));
  expect(ran).toHaveLength(1);
});

test('an event of a callback between the answer and the tool keeps it from nothing', async () => {
  const { runner, ran } = await setUp([]);
  const agent = new LlmAgent({
    name: 'bot',
    model: new ScriptedModel([{ calls: [call(1)] }, 'Paid.']),
    tools: (runner.agent as LlmAgent).tools,
    beforeAgentCallback: ({ state }) => state.set('begun', true),
  });
  const { sessionService, platform } = runner;
  const other = new Runner({ appName: 'app', agent, sessionService, platform });
  const send = (...parts: Part[]) => other.run({ userId: 'u', sessionId: 's', newMessage: { parts } });
  await send(answer(asked(await send({ text: 'go' }))[0], { confirmed: true }));
  expect(ran).toHaveLength(1);
});

test('a confirmed long-running tool is run once, and its result comes as any other', async () => {
  let runs = 0;
  const { send, model } = await setUp([{ calls: [call(1)] }, 'Done.'], {
    isLongRunning: true,
    execute: () => void runs++,
  });
  const [id] = asked(await send({ text: 'go' }));
  expect(await send(answer(id, { confirmed: true }))).toEqual([]);
  expect(await send(answer(id, { confirmed: true }))).toEqual([]);
  expect(runs).toBe(1);
  const result = { functionResponse: { id: 'c1', name: 'pay', response: { paid: 1 } } };
  expect((await send(result)).at(-1)?.content?.parts).toEqual([{ text: 'Done.' }]);
  model.assertConsumed();
});

test.each([0, -1, Number.NaN])('a requestTtlMs of %d is a configuration error', async (requestTtlMs) => {
  await expect(setUp([], {}, { requestTtlMs })).rejects.toThrow('requestTtlMs must be a positive number');
});

test('a question that was rewound is not there', async () => {
  const { send, ran, runner } = await setUp([{ calls: [call(1)] }]);
  const events = await send({ text: 'go' });
  await runner.rewindAsync({ userId: 'u', sessionId: 's', rewindBeforeInvocationId: events[0]?.invocationId ?? '' });
  await expect(send(answer(asked(events)[0], { confirmed: true }))).rejects.toThrow(InvalidMessageError);
  expect(ran).toEqual([]);
});

test('an answer that was rewound can be given again, and counts as the first one', async () => {
  const { send, ran, runner } = await setUp([{ calls: [call(1)] }, 'Paid.', 'Paid again.']);
  const [id] = asked(await send({ text: 'go' }));
  const [paid] = await send(answer(id, { confirmed: true }));
  await runner.rewindAsync({ userId: 'u', sessionId: 's', rewindBeforeInvocationId: paid?.invocationId ?? '' });
  expect(responses(await send(answer(id, { confirmed: true })))).toEqual([['c1', { paid: 1 }]]);
  expect(ran).toHaveLength(2);
});

test('a tool that was cut off while it ran is not run again, and the model is told that it was interrupted', async () => {
  const abort = new AbortController();
  let runs = 0;
  const { send, runner } = await setUp([{ calls: [call(1)] }, 'I do not know.'], {
    execute: (_args, { abortSignal }: ToolContext) => {
      runs++;
      abort.abort();
      return new Promise((_resolve, reject) =>
        abortSignal.addEventListener('abort', () => reject(new Error('cut off'))),
      );
    },
  });
  const [id] = asked(await send({ text: 'go' }));
  const newMessage = { parts: [answer(id, { confirmed: true })] };
  await expect(runner.run({ userId: 'u', sessionId: 's', newMessage, abortSignal: abort.signal })).rejects.toThrow();
  expect(runs).toBe(1);
  expect(responses(await send(answer(id, { confirmed: true })))).toMatchObject([['c1', { error: 'interrupted' }]]);
  expect(runs).toBe(1);
  await expect(send(answer(id, { confirmed: true }))).rejects.toThrow('was answered already');
});

test('an answer whose run ended before the tool began can be given again', async () => {
  const { send, ran, sessionService, stored } = await setUp([{ calls: [call(1)] }, 'Paid.']);
  const [id] = asked(await send({ text: 'go' }));
  const session = await sessionService.getSession(KEY);
  if (!session) return expect.unreachable();
  const lost = (await stored())[0] as Event;
  await sessionService.appendEvent({
    session,
    event: {
      ...lost,
      id: 'lost',
      invocationId: 'e-lost',
      content: { role: 'user', parts: [answer(id, { confirmed: true })] },
    },
  });
  await send(answer(id, { confirmed: true }));
  expect(ran).toHaveLength(1);
});

test('a call that the ledger has as finished is answered with what it has', async () => {
  const { send, ran, sessionService, stored } = await setUp([{ calls: [call(1)] }, 'Paid.']);
  const [id] = asked(await send({ text: 'go' }));
  const session = await sessionService.getSession(KEY);
  if (!session) return expect.unreachable();
  const lost = (await stored())[0] as Event;
  const content = { role: 'user', parts: [answer(id, { confirmed: true })] };
  await sessionService.appendEvent({ session, event: { ...lost, id: 'lost', invocationId: 'e-lost', content } });
  const lease = await sessionService.acquireLease(KEY);
  const entry = { invocationId: 'e-lost', callId: 'lost/c1', name: 'pay' };
  await sessionService.recordToolCall(lease, { ...entry, status: 'started' });
  await sessionService.recordToolCall(lease, { ...entry, status: 'finished', response: { paid: 'before' } });
  await sessionService.releaseLease(lease);
  expect(responses(await send(answer(id, { confirmed: true })))).toEqual([['c1', { paid: 'before' }]]);
  expect(ran).toEqual([]);
});

test('an agent that is called as a tool cannot wait: nobody is asked, and its model is told', async () => {
  const { runner, ran } = await setUp([]);
  const child = new LlmAgent({
    name: 'child',
    model: new ScriptedModel([{ calls: [call(1)] }, 'I may not.']),
    tools: (runner.agent as LlmAgent).tools,
  });
  const agent = new LlmAgent({
    name: 'parent',
    model: new ScriptedModel([{ calls: [{ id: 'a1', name: 'child', args: { request: 'pay' } }] }, 'It may not.']),
    tools: [new AgentTool({ agent: child })],
  });
  const { sessionService, platform } = runner;
  const outer = new Runner({ appName: 'app', agent, sessionService, platform });
  const events = await outer.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'go' }] } });
  expect(asked((await sessionService.getSession(KEY))?.events ?? [])).toEqual([]);
  expect(responses(events)).toEqual([['a1', { result: 'I may not.' }]]);
  expect(ran).toEqual([]);
});

test('an agent that was handed the conversation gets the answer to what it asked', async () => {
  const { runner, ran } = await setUp([]);
  const model = new ScriptedModel([{ calls: [call(1)] }, 'Paid by the helper.']);
  const helper = new LlmAgent({ name: 'helper', model, tools: (runner.agent as LlmAgent).tools });
  const handOver = { calls: [{ id: 't1', name: 'transfer_to_agent', args: { agent_name: 'helper' } }] };
  const agent = new LlmAgent({ name: 'front', model: new ScriptedModel([handOver]), subAgents: [helper] });
  const { sessionService, platform } = runner;
  const outer = new Runner({ appName: 'app', agent, sessionService, platform });
  const send = (...parts: Part[]) => outer.run({ userId: 'u', sessionId: 's', newMessage: { parts } });
  const [id] = asked(await send({ text: 'go' }));
  const events = await send(answer(id, { confirmed: true }));
  expect(events.map(({ author }) => author)).toEqual(['helper', 'helper']);
  expect(ran).toHaveLength(1);
});
