import {
  ConfigurationError,
  createEvent,
  type Event,
  type FunctionCall,
  getFunctionResponses,
  InvalidRequestError,
  getFunctionCalls,
  type MaybePromise,
  type Part,
  SessionBusyError,
  ShuttingDownError,
  StaleWriterError,
  toolResult,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { IDS, scenario, scripted } from '../fixtures/scenario.ts';
import { Runner } from '../runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const REF = { userId: 'u', sessionId: 's' };
const HI = { ...REF, newMessage: { parts: [{ text: 'hi' }] } };

const sequence = (first: LlmAgent): SequentialAgent =>
  new SequentialAgent({ name: 'both', subAgents: [first, scripted('other', [])] });

const SECOND = { id: 'c2', name: 'slow' };

type Service = InMemorySessionService;

/** A storage that refuses events after its process died. */
class DyingService extends InMemorySessionService {
  isDead = false;
  /** Makes the process die when the next call begins. */
  diesBeforeCall = false;

  override appendEvent(...given: Parameters<Service['appendEvent']>): MaybePromise<Event> {
    return this.isDead ? Promise.reject(new TypeError('dead')) : super.appendEvent(...given);
  }

  override appendEvents(...given: Parameters<Service['appendEvents']>): Promise<Event[]> {
    return this.isDead ? Promise.reject(new TypeError('dead')) : super.appendEvents(...given);
  }

  override endRun(...given: Parameters<Service['endRun']>): ReturnType<Service['endRun']> {
    return this.isDead ? Promise.reject(new TypeError('dead')) : super.endRun(...given);
  }

  override recordToolCall(...given: Parameters<Service['recordToolCall']>): ReturnType<Service['recordToolCall']> {
    this.isDead ||= this.diesBeforeCall;
    return this.diesBeforeCall ? Promise.reject(new TypeError('dead')) : super.recordToolCall(...given);
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

/** A run whose process ended while the call of `slow` was running and all other calls were finished. */
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
  const finished = async () => {
    const ledger = await sessionService.listToolCalls({ ...KEY, invocationId: stream.invocationId });
    return ledger.filter(({ status }) => status === 'finished');
  };
  await expect.poll(finished).toHaveLength(calls.length - 1);
  controller.abort(new ShuttingDownError('the server is shutting down'));
  await expect(running).rejects.toThrow();
  const stored = async () => (await sessionService.getSession(KEY))?.events ?? [];
  const open = async () => (await runner.listOpenRuns()).runs;
  const params = { ...REF, invocationId: stream.invocationId, reason: 'it was given up' };
  return { runner, runnerOf, sessionService, platform, stored, open, params };
}

test('closeRun stores an event, and the run is no longer open or resumable', async () => {
  const { runner, stored, open, params } = await leftRun([SECOND]);
  expect(await open()).toHaveLength(1);
  const closing = await runner.closeRun(params);
  expect(closing).toMatchObject({ errorCode: 'RUN_ABANDONED', errorMessage: 'it was given up', object: 'error' });
  expect((await stored()).slice(-2)).toMatchObject([{ id: closing?.id }, { object: 'runner.end' }]);
  expect(await open()).toEqual([]);
  await expect(runner.run({ ...REF, invocationId: params.invocationId })).rejects.toThrow(InvalidRequestError);
});

test('calls without a response get one, from the ledger or as interrupted', async () => {
  const { runner, stored, params, sessionService } = await leftRun([{ id: 'c1', name: 'quick' }, SECOND]);
  await runner.closeRun(params);
  const events = await stored();
  const answer = events.find((event) => getFunctionResponses(event).length > 0);
  expect(answer).toMatchObject({ author: 'bot', content: { role: 'user' } });
  expect(answer && getFunctionResponses(answer)).toEqual([
    { id: 'c1', name: 'quick', response: { quick: 'done' } },
    {
      id: 'c2',
      name: 'slow',
      response: { error: 'interrupted', message: expect.stringContaining('interrupted when') },
    },
  ]);
  expect((await sessionService.getSession(KEY))?.state).toEqual({ quick: 'done' });
});

test("the model's next turn has a response for every call", async () => {
  const { runner, runnerOf, params } = await leftRun([{ id: 'c1', name: 'quick' }, SECOND]);
  await runner.closeRun(params);
  const model = new ScriptedModel(['well']);
  await runnerOf(model).run({ ...REF, newMessage: { parts: [{ text: 'and now?' }] } });
  const contents = model.requests[0]?.request.contents ?? [];
  const parts = contents.slice(1).map((content) => content.parts?.map((part) => Object.keys(part)[0]));
  expect(parts).toEqual([['functionCall', 'functionCall'], ['functionResponse', 'functionResponse'], ['text']]);
});

test('a long-running call stays open and is answered in a new run', async () => {
  const { runner, runnerOf, stored, params } = await leftRun([{ id: 'w1', name: 'wait' }, SECOND]);
  await runner.closeRun(params);
  expect((await stored()).flatMap(getFunctionResponses).map(({ id }) => id)).toEqual(['c2']);
  const newMessage = { parts: [{ functionResponse: { id: 'w1', response: { ready: true } } }] };
  const events = await runnerOf(new ScriptedModel(['ready'])).run({ ...REF, newMessage });
  expect(events.findLast(({ content }) => content)?.content?.parts).toEqual([{ text: 'ready' }]);
});

test('closeRun can be repeated after its process ended, and writes nothing twice', async () => {
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

const RECEIPT = { mimeType: 'text/plain', data: 'Nw==' };

/** The last step of a run with a person's answer before its process ends. */
type LastAct = 'stores the answer' | 'begins the call' | 'finishes the call';

/**
 * A run whose process ended after a person confirmed a call of `pay`. With `inNewRun`, the run that requested the
 * answer was closed before.
 */
async function leftConfirmedCall(lastAct: LastAct, inNewRun = false) {
  const platform = fixedPlatform();
  const sessionService = new DyingService({ platform });
  await sessionService.createSession(KEY);
  const controller = new AbortController();
  let paid = 0;
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    requireConfirmation: true,
    execute: (_, { state }) => {
      sessionService.isDead = true;
      if (lastAct === 'begins the call') {
        controller.abort(new ShuttingDownError('the server is shutting down'));
        return undefined;
      }
      paid++;
      state.set('paid', true);
      return toolResult({ response: { receipt: 7 }, parts: [{ inlineData: RECEIPT }] });
    },
  });
  const runnerOf = (model: ScriptedModel) => {
    const agent = new LlmAgent({ name: 'bot', model, tools: [pay] });
    return new Runner({ appName: 'app', agent, sessionService, platform, resumable: true });
  };
  const asked = await runnerOf(new ScriptedModel([{ calls: [{ id: 'c', name: 'pay' }] }])).run(HI);
  const [request] = asked.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_confirmation');
  const runner = runnerOf(new ScriptedModel([]));
  const reason = 'it was given up';
  if (inNewRun) await runner.closeRun({ ...REF, invocationId: asked[0]?.invocationId ?? '', reason });
  sessionService.diesBeforeCall = lastAct === 'stores the answer';
  const parts = [{ functionResponse: { id: request?.id ?? '', response: { confirmed: true } } }];
  const newMessage = { parts };
  await expect(runner.run({ ...REF, newMessage, abortSignal: controller.signal })).rejects.toThrow();
  sessionService.isDead = false;
  sessionService.diesBeforeCall = false;
  const [open] = (await runner.listOpenRuns()).runs;
  const params = { ...REF, invocationId: open?.invocationId ?? '', reason };
  /** Returns the responses to the call that the model gets in the next turn. */
  const askAgain = async () => {
    const model = new ScriptedModel(['well']);
    await runnerOf(model).run({ ...REF, newMessage: { parts: [{ text: 'did you pay?' }] } });
    const sent = model.requests[0]?.request.contents.flatMap(({ parts = [] }) => parts) ?? [];
    return sent.flatMap(({ functionResponse }) => functionResponse ?? []);
  };
  return { runner, sessionService, params, newMessage, askAgain, askedIn: asked[0]?.invocationId, paid: () => paid };
}

test.each([false, true])(
  'a confirmed call that ran gets its result from the ledger (answer in a new run: %s)',
  async (inNewRun) => {
    const { runner, sessionService, params, newMessage, askAgain, askedIn, paid } = await leftConfirmedCall(
      'finishes the call',
      inNewRun,
    );
    expect(params.invocationId !== askedIn).toBe(inNewRun);
    await runner.closeRun(params);
    const session = await sessionService.getSession(KEY);
    const answer = session?.events.findLast(
      (event) => event.author === 'bot' && getFunctionResponses(event).length > 0,
    );
    expect(answer?.invocationId).toBe(params.invocationId);
    expect(session?.state).toEqual({ paid: true });
    const result = { id: 'c', name: 'pay', response: { receipt: 7 } };
    expect(answer && getFunctionResponses(answer)).toEqual([{ ...result, parts: [{ inlineData: RECEIPT }] }]);
    // The media may follow in separate parts.
    expect((await askAgain()).at(-1)).toMatchObject(result);
    await expect(runner.run({ ...REF, newMessage })).rejects.toThrow('has already been answered');
    expect(paid()).toBe(1);
  },
);

test('a confirmed call that was interrupted or never started gets a response that says so', async () => {
  for (const [lastAct, message] of [
    ['begins the call', 'interrupted when'],
    ['stores the answer', 'before the call began'],
  ] as const) {
    const { runner, params, askAgain } = await leftConfirmedCall(lastAct);
    await runner.closeRun(params);
    const expected = { error: 'interrupted', message: expect.stringContaining(message) };
    expect((await askAgain()).at(-1)?.response).toEqual(expected);
  }
});

test('closeRun of a run without stored events writes nothing', async () => {
  const { runner, stored, open, params, sessionService } = await leftRun([SECOND]);
  await runner.closeRun(params);
  const { lease } = await sessionService.beginRun({ ...KEY, invocationId: 'e-none', resumable: true });
  await sessionService.releaseLease(lease, { keepRunOpen: true });
  const before = await stored();
  expect(await open()).toMatchObject([{ invocationId: 'e-none' }]);
  expect(await runner.closeRun({ ...params, invocationId: 'e-none' })).toBeUndefined();
  expect(await open()).toEqual([]);
  expect(await stored()).toEqual(before);
});

test('with onBusy reject closeRun throws if the session is busy', async () => {
  const { runner, params, sessionService } = await leftRun([SECOND]);
  await sessionService.acquireLease(KEY);
  await expect(runner.closeRun({ ...params, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
});

test('with onBusy interrupt closeRun aborts the run of this process and its tools', async () => {
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
  const closing = await runner.closeRun({ ...REF, invocationId, reason: 'enough', onBusy: 'interrupt' });
  expect(closing).toMatchObject({ errorCode: 'RUN_ABANDONED' });
  await failing;
});

test.each(['closeRun', 'cancelRun'] as const)('%s of an ended run does not interrupt the next run', async (method) => {
  const gate = new Gate();
  const { run, runner } = await scenario({ model: ['one', { gate, text: 'two' }], resumable: true });
  const [first] = await run();
  const next = run('next');
  await gate.reached;
  const params = { ...IDS, invocationId: first?.invocationId ?? '', onBusy: 'interrupt' } as const;
  const closing = method === 'closeRun' ? runner.closeRun({ ...params, reason: 'over' }) : runner.cancelRun(params);
  await expect(closing).rejects.toMatchObject({ code: 'RUN_OPEN' });
  gate.open();
  expect((await next).map(({ content }) => content?.parts?.[0]?.text)).toContain('two');
});

test('closeRun refuses an unknown option', async () => {
  const { runner, params } = await leftRun([SECOND]);
  const unknown = { ...params, force: true };
  await expect(runner.closeRun(unknown)).rejects.toThrow(ConfigurationError);
});

test.each([
  ['an agent whose answer it is', (bot: LlmAgent) => bot, true],
  ['an agent that it was handed over to', (bot: LlmAgent) => scripted('front', [], { subAgents: [bot] }), true],
  ['the first of several agents', (bot: LlmAgent) => sequence(bot), false],
  ['an agent that has a callback behind it', (bot: LlmAgent) => bot, false, { afterAgentCallback: () => undefined }],
  [
    'an agent in the middle of its words',
    (bot: LlmAgent) => bot,
    false,
    {},
    { functionCall: { id: 'c', name: 'f', args: {} } } as Part,
  ],
] as const)(
  'a run interrupted after a whole reply of %s counts as completed only if no step is left',
  async (_, toRoot, isCompleted, config = {}, part = { text: 'Done.' }) => {
    const sessionService = new InMemorySessionService({ platform: fixedPlatform() });
    await sessionService.createSession(KEY);
    const runner = new Runner({ appName: 'app', agent: toRoot(scripted('bot', [], config)), sessionService });
    const run = { invocationId: 'e-1', executionId: 'e-1' };
    const message = createEvent({ ...run, id: 'm', author: 'user', content: { parts: [{ text: 'hi' }] } });
    const { lease, session } = await sessionService.beginRun({ ...KEY, invocationId: 'e-1', message });
    const content = { role: 'model', parts: [part] };
    const reply = createEvent({ ...run, id: 'r', author: 'bot', finishReason: 'STOP', content });
    await sessionService.appendEvent({ session, lease, event: reply });
    await sessionService.releaseLease(lease, { keepRunOpen: true });
    const closing = await runner.closeRun({ ...REF, invocationId: 'e-1', reason: 'lost' });
    expect(closing?.errorCode).toBe(isCompleted ? undefined : 'RUN_ABANDONED');
    const { open, end } = (await sessionService.findRun({ ...KEY, id: 'e-1' })) ?? {};
    const state = isCompleted ? { state: 'completed' } : { state: 'interrupted', code: 'RUN_ABANDONED' };
    expect([open, end]).toEqual([undefined, { ...state, lastSeq: (await sessionService.getSession(KEY))?.lastSeq }]);
  },
);
