import { type Event, InvalidMessageError, type Part, type ToolContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { IDS } from './fixtures/scenario.ts';
import { Runner } from './runner.ts';
import { answer, asked, call, KEY, responses, setUp } from './fixtures/confirmed-run.ts';

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
  ['in a run that can be resumed', true],
  ['in one that cannot', false],
])('an answer that is refused interrupts no run: %s', async (_title, resumable) => {
  const gate = new Gate();
  const execute = () => gate.pass().then(() => ({ paid: 1 }));
  const { send, stored, runner } = await setUp([{ calls: [call(1)] }, 'Done.'], { execute }, { resumable });
  const [id] = asked(await send({ text: 'go' }));
  const approved = send(answer(id, { confirmed: true }));
  await gate.reached;
  for (const given of [id, 'adk-nope']) {
    const newMessage = { parts: [answer(given, { confirmed: true })] };
    const sending = runner.run({ ...IDS, newMessage, runConfig: { onBusy: 'interrupt' } });
    await expect(sending).rejects.toThrow(InvalidMessageError);
  }
  gate.open();
  await approved;
  expect(responses(await stored()).slice(-1)).toEqual([['c1', { paid: 1 }]]);
});

test.each([
  ['an id that nobody asked with', 'adk-nope', { confirmed: true }, 'there is no call with the id "adk-nope"'],
  ['an answer that says nothing', undefined, {}, 'has an answer without confirmed'],
  ['a confirmed that is text', undefined, { confirmed: 'yes' }, 'has an answer without confirmed'],
  ['text that is not JSON', undefined, { response: 'yes' }, 'is not the JSON of an object'],
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

test('an answer to the request of an agent that was renamed is refused before anything is written', async () => {
  const { send, stored, runner } = await setUp([{ calls: [call(1)] }]);
  const [id] = asked(await send({ text: 'go' }));
  const before = (await stored()).length;
  const agent = new LlmAgent({ name: 'renamed', model: new ScriptedModel(['Hello.']) });
  const { appName, sessionService } = runner;
  const renamed = new Runner({ appName, agent, sessionService });
  const sending = renamed.run({ ...KEY, newMessage: { parts: [answer(id, { confirmed: true })] } });
  await expect(sending).rejects.toThrow(InvalidMessageError);
  await expect(sending).rejects.toThrow('answers calls of the agent "bot", and no agent has that name');
  expect(await stored()).toHaveLength(before);
});

test('an expired answer does not run the tool, and the model gets an error', async () => {
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

test('an answer to a rewound request is refused', async () => {
  const { send, ran, runner } = await setUp([{ calls: [call(1)] }]);
  const events = await send({ text: 'go' });
  await runner.rewindAsync({ userId: 'u', sessionId: 's', rewindBeforeInvocationId: events[0]?.invocationId ?? '' });
  await expect(send(answer(asked(events)[0], { confirmed: true }))).rejects.toThrow(InvalidMessageError);
  expect(ran).toEqual([]);
});

test('a rewound answer can be given again and counts as the first', async () => {
  const { send, ran, runner } = await setUp([{ calls: [call(1)] }, 'Paid.', 'Paid again.']);
  const [id] = asked(await send({ text: 'go' }));
  const [paid] = await send(answer(id, { confirmed: true }));
  await runner.rewindAsync({ userId: 'u', sessionId: 's', rewindBeforeInvocationId: paid?.invocationId ?? '' });
  expect(responses(await send(answer(id, { confirmed: true })))).toEqual([['c1', { paid: 1 }]]);
  expect(ran).toHaveLength(2);
});

test('a tool interrupted after the confirmation is not run again, and the model gets an interrupted response', async () => {
  const abort = new AbortController();
  let runs = 0;
  const { send, runner, stored } = await setUp([{ calls: [call(1)] }, 'I do not know.'], {
    execute: (_args, { abortSignal }: ToolContext) => {
      runs++;
      abort.abort();
      return new Promise((_resolve, reject) =>
        abortSignal.addEventListener('abort', () => reject(new Error('interrupted'))),
      );
    },
  });
  const [id] = asked(await send({ text: 'go' }));
  const newMessage = { parts: [answer(id, { confirmed: true })] };
  await expect(runner.run({ userId: 'u', sessionId: 's', newMessage, abortSignal: abort.signal })).rejects.toThrow();
  expect(runs).toBe(1);
  expect(responses(await stored()).at(-1)).toMatchObject(['c1', { error: 'interrupted' }]);
  await expect(send(answer(id, { confirmed: true }))).rejects.toThrow('has already been answered');
});

/** Stores the person's approval as the event `lost` of a run that went no further. Returns the id of the request. */
async function loseAnswer({ send, sessionService, stored }: Awaited<ReturnType<typeof setUp>>): Promise<string> {
  const [id = ''] = asked(await send({ text: 'go' }));
  const session = await sessionService.getSession(KEY);
  if (!session) return expect.unreachable();
  const lost = (await stored())[0] as Event;
  const content = { role: 'user', parts: [answer(id, { confirmed: true })] };
  await sessionService.appendEvent({ session, event: { ...lost, id: 'lost', invocationId: 'e-lost', content } });
  return id;
}

test('an answer whose run ended before the tool started can be given again', async () => {
  const played = await setUp([{ calls: [call(1)] }, 'Paid.']);
  const { send, ran } = played;
  const id = await loseAnswer(played);
  await send(answer(id, { confirmed: true }));
  expect(ran).toHaveLength(1);
});

test('a call recorded as finished in the ledger gets the recorded response', async () => {
  const played = await setUp([{ calls: [call(1)] }, 'Paid.']);
  const { send, ran, sessionService } = played;
  const id = await loseAnswer(played);
  const lease = await sessionService.acquireLease(KEY);
  const entry = { invocationId: 'e-lost', entryId: 'lost/c1', name: 'pay' };
  await sessionService.recordToolCall(lease, { ...entry, status: 'started' });
  await sessionService.recordToolCall(lease, { ...entry, status: 'finished', response: { paid: 'before' } });
  await sessionService.releaseLease(lease);
  expect(responses(await send(answer(id, { confirmed: true })))).toEqual([['c1', { paid: 'before' }]]);
  expect(ran).toEqual([]);
});

test.each([
  ['that may run again runs for the next answer', { idempotent: true }, { paid: 1 }],
  ['that may not gets an interrupted response', {}, { error: 'interrupted' }],
])('a tool call interrupted after an answer %s', async (_title, options, response) => {
  const played = await setUp([{ calls: [call(1)] }, 'Paid.'], options);
  const { send, ran, sessionService } = played;
  const id = await loseAnswer(played);
  const lease = await sessionService.acquireLease(KEY);
  const entry = { invocationId: 'e-lost', entryId: 'lost/c1', name: 'pay' };
  await sessionService.recordToolCall(lease, { ...entry, status: 'started' });
  await sessionService.releaseLease(lease);
  expect(responses(await send(answer(id, { confirmed: true })))).toMatchObject([['c1', response]]);
  expect(ran).toHaveLength('paid' in response ? 1 : 0);
});

test('in a run that is not resumable, an AgentTool requests nothing and its model gets an error', async () => {
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

test('after a transfer the answer goes to the agent that requested it', async () => {
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
