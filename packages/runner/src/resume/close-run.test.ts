import {
  ConfigurationError,
  type Event,
  type FunctionCall,
  getFunctionResponses,
  InvalidRequestError,
  type MaybePromise,
  SessionBusyError,
  ShuttingDownError,
  StaleWriterError,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test, vi } from 'vitest';
import { Runner } from '../runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const REF = { userId: 'u', sessionId: 's' };
const HI = { ...REF, newMessage: { parts: [{ text: 'hi' }] } };

const SECOND = { id: 'c2', name: 'slow' };

/** A storage that takes no events while it is dead. */
class DyingService extends InMemorySessionService {
  isDead = false;

  override appendEvent(...given: Parameters<InMemorySessionService['appendEvent']>): MaybePromise<Event> {
    return this.isDead ? Promise.reject(new TypeError('dead')) : super.appendEvent(...given);
  }
}

function setUpAgent(model: ScriptedModel, gate: Gate) {
  const quick = new FunctionTool({
    name: 'quick',
    description: '',
    execute: (_, { state }) => {
      state.set('quick', 'done');
      return { quick: 'done' };
    },
  });
  const slow = new FunctionTool({
    name: 'slow',
    description: '',
    execute: async (_, { invocationContext }) => {
      await gate.pass(invocationContext.abortSignal);
      return { slow: 'done' };
    },
  });
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  return new LlmAgent({ name: 'bot', model, tools: [quick, slow, wait] });
}

/** A run that is left while the call of `slow` is under way and all others are finished. */
async function leftRun(calls: readonly FunctionCall[]) {
  const platform = fixedPlatform();
  const sessionService = new DyingService({ platform });
  await sessionService.createSession(KEY);
  const gate = new Gate();
  const runnerOf = (model: ScriptedModel) =>
    new Runner({ appName: 'app', agent: setUpAgent(model, gate), sessionService, platform, resumable: true });
  const controller = new AbortController();
  const runner = runnerOf(new ScriptedModel([{ calls }]));
  const stream = runner.runAsync({ ...HI, abortSignal: controller.signal });
  const running = (async () => {
    for await (const _event of stream);
  })();
  await gate.reached;
  await vi.waitFor(async () => {
    const { invocationId } = stream;
    const ledger = await sessionService.listToolCalls({ ...KEY, invocationId });
    expect(ledger.filter(({ status }) => status === 'finished')).toHaveLength(calls.length - 1);
  });
  controller.abort(new ShuttingDownError('the server is shutting down'));
  await expect(running).rejects.toThrow();
  const stored = async () => (await sessionService.getSession(KEY))?.events ?? [];
  const open = async () => (await runner.listOpenRuns()).runs;
  const params = { ...REF, invocationId: stream.invocationId, reason: 'it was given up' };
  return { runner, runnerOf, sessionService, platform, stored, open, params };
}

test('a run that is closed says so in an event, is open no more and is never resumed', async () => {
  const { runner, stored, open, params } = await leftRun([SECOND]);
  expect(await open()).toHaveLength(1);
  const told = await runner.closeRun(params);
  expect(told).toMatchObject({ errorCode: 'RUN_ABANDONED', errorMessage: 'it was given up', object: 'error' });
  expect((await stored()).slice(-2)).toMatchObject([{ id: told?.id }, { object: 'runner.end' }]);
  expect(await open()).toEqual([]);
  await expect(runner.run({ ...REF, invocationId: params.invocationId })).rejects.toThrow(InvalidRequestError);
});

test('calls that have no answer get one: what the ledger has, or that they were interrupted', async () => {
  const { runner, stored, params, sessionService } = await leftRun([{ id: 'c1', name: 'quick' }, SECOND]);
  await runner.closeRun(params);
  const events = await stored();
  const answer = events.find((event) => getFunctionResponses(event).length > 0);
  expect(answer).toMatchObject({ author: 'bot', content: { role: 'user' } });
  expect(answer && getFunctionResponses(answer)).toEqual([
    { id: 'c1', name: 'quick', response: { quick: 'done' } },
    { id: 'c2', name: 'slow', response: { error: 'interrupted', message: expect.stringContaining('cut off') } },
  ]);
  expect((await sessionService.getSession(KEY))?.state).toEqual({ quick: 'done' });
});

test('the next turn of a model has every call with its answer', async () => {
  const { runner, runnerOf, params } = await leftRun([{ id: 'c1', name: 'quick' }, SECOND]);
  await runner.closeRun(params);
  const model = new ScriptedModel(['well']);
  await runnerOf(model).run({ ...REF, newMessage: { parts: [{ text: 'and now?' }] } });
  const contents = model.requests[0]?.request.contents ?? [];
  const parts = contents.slice(1).map((content) => content.parts?.map((part) => Object.keys(part)[0]));
  expect(parts).toEqual([['functionCall', 'functionCall'], ['functionResponse', 'functionResponse'], ['text']]);
});

test('a call whose answer comes later is left to be answered, in a new run', async () => {
  const { runner, runnerOf, stored, params } = await leftRun([{ id: 'w1', name: 'wait' }, SECOND]);
  await runner.closeRun(params);
  expect((await stored()).flatMap(getFunctionResponses).map(({ id }) => id)).toEqual(['c2']);
  const newMessage = { parts: [{ functionResponse: { id: 'w1', response: { ready: true } } }] };
  const events = await runnerOf(new ScriptedModel(['ready'])).run({ ...REF, newMessage });
  expect(events.findLast(({ content }) => content)?.content?.parts).toEqual([{ text: 'ready' }]);
});

test('a process that ends while it closes a run leaves it to be closed, and nothing is said twice', async () => {
  const { runner, stored, open, params, sessionService } = await leftRun([SECOND]);
  sessionService.isDead = true;
  await expect(runner.closeRun(params)).rejects.toThrow('dead');
  expect(await open()).toMatchObject([{ invocationId: params.invocationId, heldUntilMs: 0 }]);
  sessionService.isDead = false;
  await runner.closeRun(params);
  await runner.closeRun(params);
  const events = await stored();
  expect(events.filter(({ errorCode }) => errorCode === 'RUN_ABANDONED')).toHaveLength(1);
  expect(events.flatMap(getFunctionResponses)).toHaveLength(1);
  expect(events.filter(({ object }) => object === 'runner.end')).toHaveLength(1);
});

test('a run of which nothing is stored is open no more, and nothing is written', async () => {
  const { runner, stored, open, params, sessionService } = await leftRun([SECOND]);
  const lease = await sessionService.acquireLease({ ...KEY, invocationId: 'e-none', resumable: true });
  await sessionService.releaseLease(lease, { leaveOpen: true });
  const before = await stored();
  expect(await open()).toMatchObject([{ invocationId: 'e-none' }]);
  expect(await runner.closeRun({ ...params, invocationId: 'e-none' })).toBeUndefined();
  expect(await open()).toEqual([]);
  expect(await stored()).toEqual(before);
});

test('a session that is held is left alone when that is asked for', async () => {
  const { runner, params, sessionService } = await leftRun([SECOND]);
  await sessionService.acquireLease(KEY);
  await expect(runner.closeRun({ ...params, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
});

test('with onBusy interrupt the run of this process that has the session is told so, and its tools stop', async () => {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const gate = new Gate();
  const agent = setUpAgent(new ScriptedModel([{ calls: [SECOND] }]), gate);
  const runner = new Runner({ appName: 'app', agent, sessionService, resumable: true });
  const stream = runner.runAsync(HI);
  const running = (async () => {
    for await (const _event of stream);
  })();
  const failing = expect(running).rejects.toThrow(StaleWriterError);
  await gate.reached;
  const { invocationId } = stream;
  const told = await runner.closeRun({ ...REF, invocationId, reason: 'enough', onBusy: 'interrupt' });
  expect(told).toMatchObject({ errorCode: 'RUN_ABANDONED' });
  await failing;
});

test('an option that does not exist is refused', async () => {
  const { runner, params } = await leftRun([SECOND]);
  const unknown = { ...params, force: true };
  await expect(runner.closeRun(unknown)).rejects.toThrow(ConfigurationError);
});
