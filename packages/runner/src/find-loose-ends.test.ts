import {
  createEvent,
  type EventParams,
  getFunctionCalls,
  InvalidRequestError,
  type Part,
  SessionNotFoundError,
  ShuttingDownError,
} from '@eventloom/core';
import { AgentTool } from '@eventloom/multi-agent';
import { Gate } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { findLooseEnds } from './find-loose-ends.ts';
import { KEY, runToError, scenario, scripted } from './fixtures/scenario.ts';

const look = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });

test.each([true, false])(
  'findLooseEnds returns none if every run ended or waits for answers (resumable: %s)',
  async (resumable) => {
    const model = [{ calls: [{ name: 'look' }] }, 'Seen.', { calls: [{ id: 'c', name: 'wait' }] }, 'Thanks.'];
    const { run, sessionService } = await scenario({ model, agent: { tools: [look, wait] }, resumable });
    await run('hi');
    expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
    await run('wait');
    expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
    await run({ functionResponse: { id: 'c', response: { done: true } } });
    expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
  },
);

test('findLooseEnds returns none if the tool of an agent that was called as a tool waits for an approval', async () => {
  const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
  const payer = scripted('payer', [{ calls: [{ name: 'pay' }] }, 'Paid.'], { tools: [pay] });
  const model = [{ calls: [{ name: 'payer', args: { request: 'x' } }] }];
  const agent = { tools: [new AgentTool({ agent: payer })] };
  const { run, sessionService } = await scenario({ model, agent, resumable: true });
  const events = await run('pay');
  expect(events.flatMap(getFunctionCalls).map(({ name }) => name)).toContain('adk_request_confirmation');
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
});

test.each([true, false])(
  'findLooseEnds returns none for approved long-running work whose result comes later (resumable: %s)',
  async (resumable) => {
    const options = { name: 'order', description: '', requireConfirmation: true };
    const order = new LongRunningFunctionTool({ ...options, execute: () => undefined });
    const model = [{ calls: [{ id: 'c', name: 'order' }] }, 'Thanks.'];
    const { run, sessionService } = await scenario({ model, agent: { tools: [order] }, resumable });
    const asked = (await run('order')).flatMap(getFunctionCalls).find(({ name }) => name !== 'order');
    await run({ functionResponse: { id: asked?.id ?? '', response: { confirmed: true } } });
    expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
    await run({ functionResponse: { id: 'c', response: { ordered: true } } });
    expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
  },
);

test('findLooseEnds returns none if an agent that was called as a tool has approved long-running work', async () => {
  const order = new LongRunningFunctionTool({
    name: 'order',
    description: '',
    requireConfirmation: true,
    execute: () => undefined,
  });
  const buyer = scripted('buyer', [{ calls: [{ name: 'order' }] }, 'Ordered.'], { tools: [order] });
  const model = [{ calls: [{ name: 'buyer', args: { request: 'x' } }] }, 'Thanks.'];
  const agent = { tools: [new AgentTool({ agent: buyer })] };
  const { run, sessionService } = await scenario({ model, agent, resumable: true });
  const asked = (await run('order')).flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation');
  await run({ functionResponse: { id: asked?.id ?? '', response: { confirmed: true } } });
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
});

const result = { functionResponse: { id: 'c.1', name: 'buyer', response: {} } };

test.each<[string, EventParams, string[]]>([
  ['its run has ended', { author: 'app', object: 'runner.end' }, ['c.1', 'c2']],
  ['its caller has its result', { author: 'lead', branch: 'x', content: { parts: [result] } }, ['c2']],
  ['its run continues', { author: 'lead', branch: 'x' }, []],
])('findLooseEnds looks for waiting calls of an agent that was called as a tool: %s', async (_, last, left) => {
  const { sessionService, session } = await scenario();
  const append = async (event: EventParams) =>
    sessionService.appendEvent({ session: await session(), event: createEvent({ invocationId: 'e-1', ...event }) });
  const calling = (id: string, name: string) => ({ content: { parts: [{ functionCall: { id, name } }] } });
  await append({ author: 'user', actions: { agentState: { resumable: true } }, content: { parts: [{ text: 'hi' }] } });
  await append({ author: 'lead', branch: 'x', ...calling('c.1', 'buyer') });
  await append({ author: 'buyer', branch: 'x.buyer@c%2E1', longRunningToolIds: ['c2'], ...calling('c2', 'wait') });
  await append(last);
  expect((await findLooseEnds(sessionService, KEY)).map((end) => 'callId' in end && end.callId)).toEqual(left);
});

test('findLooseEnds leaves out a waiting call if only a later run has a response to a call with the id of its caller', async () => {
  const { sessionService, session } = await scenario();
  const append = async (event: EventParams) =>
    sessionService.appendEvent({ session: await session(), event: createEvent({ invocationId: 'e-1', ...event }) });
  const calling = (id: string, name: string) => ({ content: { parts: [{ functionCall: { id, name } }] } });
  const result = { functionResponse: { id: 'c1', name: 'buyer', response: {} } };
  await append({ author: 'user', actions: { agentState: { resumable: true } }, content: { parts: [{ text: 'hi' }] } });
  await append({ author: 'lead', ...calling('c1', 'buyer') });
  await append({ author: 'buyer', branch: 'buyer@c1', longRunningToolIds: ['c2'], ...calling('c2', 'wait') });
  await append({ author: 'lead', invocationId: 'e-2', ...calling('c1', 'buyer') });
  await append({ author: 'lead', invocationId: 'e-2', content: { parts: [result] } });
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
});

test('findLooseEnds leaves out an approved call of an earlier run while the run of the approval is active', async () => {
  const gate = new Gate();
  const execute = () => gate.pass();
  const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute });
  const { run, start, sessionService } = await scenario({
    agent: { tools: [pay] },
    model: [{ calls: [{ name: 'pay' }] }, 'paid'],
  });
  const [id = ''] = (await run()).flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);
  const stream = start({ functionResponse: { id, response: { confirmed: true } } });
  const running = (async () => {
    for await (const _ of stream);
  })();
  await gate.reached;
  const { invocationId } = stream;
  expect(await findLooseEnds(sessionService, KEY)).toEqual([{ kind: 'run-without-end', invocationId }]);
  gate.open();
  await running;
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
});

test.each(['x', undefined, {}])('findLooseEnds refuses %j, which is not a session service', async (service) => {
  const found = findLooseEnds(service as never, KEY);
  await expect(found).rejects.toThrow(InvalidRequestError);
  await expect(found).rejects.toThrow('findLooseEnds: expected a session service, got');
});

test('findLooseEnds lists an unfinished run until it is closed', async () => {
  const gate = new Gate();
  const { start, runner, sessionService } = await scenario({ model: [{ text: 'never', gate }], resumable: true });
  const abort = new AbortController();
  const stream = start('hi', { abortSignal: abort.signal });
  const running = runToError(stream);
  await gate.reached;
  abort.abort(new ShuttingDownError('the process ends'));
  await running;
  const { invocationId } = stream;
  expect(await findLooseEnds(sessionService, KEY)).toEqual([{ kind: 'run-without-end', invocationId }]);
  await runner.closeRun({ userId: KEY.userId, sessionId: KEY.sessionId, invocationId, reason: 'lost' });
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
});

test('findLooseEnds lists a response whose call is not before it, unless it was rewound', async () => {
  const { sessionService, session } = await scenario();
  const append = async (id: string, params: EventParams): Promise<unknown> =>
    sessionService.appendEvent({ session: await session(), event: createEvent({ author: 'bot', id, ...params }) });
  const response = { functionResponse: { id: 'a', name: 'look', response: {} } };
  await append('1', { invocationId: 'e-1', content: { parts: [response, { functionResponse: { name: 'see' } }] } });
  await append('2', {
    invocationId: 'e-1',
    content: { parts: [{ functionCall: { id: 'a', name: 'look', args: {} } }] },
  });
  await append('3', { invocationId: 'e-1', content: { parts: [response] } });
  expect(await findLooseEnds(sessionService, KEY)).toEqual([
    { kind: 'response-without-call', invocationId: 'e-1', callId: 'a' },
    { kind: 'response-without-call', invocationId: 'e-1', callId: 'see' },
  ]);
  await append('4', { invocationId: 'e-2', actions: { rewindBeforeInvocationId: 'e-1' } });
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
});

test('findLooseEnds lists calls without a response and with two, but not those of long-running work', async () => {
  const { sessionService, session } = await scenario();
  const run = { invocationId: 'e-1', executionId: 'e-1', author: 'bot' };
  const append = async (id: string, ...parts: Part[]): Promise<unknown> =>
    sessionService.appendEvent({ session: await session(), event: createEvent({ ...run, id, content: { parts } }) });
  const response = { functionResponse: { id: 'a', name: 'look', response: {} } };
  await append(
    '1',
    { functionCall: { id: 'a', name: 'look', args: {} } },
    { functionCall: { id: 'b', name: 'look', args: {} } },
  );
  await append('2', response);
  const left = { kind: 'call-without-response', invocationId: 'e-1', callId: 'b' };
  expect(await findLooseEnds(sessionService, KEY)).toEqual([left]);
  await append('3', response);
  const twice = { kind: 'repeated-response', invocationId: 'e-1', callId: 'a', responses: 2 };
  expect(await findLooseEnds(sessionService, KEY)).toEqual([left, twice]);
  // Each state of long-running work is a response.
  const work = { functionCall: { id: 'c', name: 'work', args: {} } };
  const event = createEvent({ ...run, id: '4', content: { parts: [work] }, longRunningToolIds: ['c'] });
  await sessionService.appendEvent({ session: await session(), event });
  for (const id of ['5', '6', '7']) await append(id, { functionResponse: { id: 'c', name: 'work', response: {} } });
  expect(await findLooseEnds(sessionService, KEY)).toEqual([left, twice]);
  await expect(findLooseEnds(sessionService, { ...KEY, sessionId: 'none' })).rejects.toThrow(SessionNotFoundError);
});
