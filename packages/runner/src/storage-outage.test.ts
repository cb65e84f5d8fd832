import {
  BasePlugin,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  RunAbortedError,
  SessionBusyError,
  ShuttingDownError,
  StaleWriterError,
  StorageError,
} from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { type FixedPlatform, fixedPlatform, Gate, modelEvent } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { caller, modelOf } from './fixtures/agent-tool-run.ts';
import { call, KEY, runToError, scenario, type ScenarioOptions, scripted, textOf } from './fixtures/scenario.ts';
import { type Fault, passTimeUntil, withOutages } from './fixtures/storage-outage.ts';

async function setUp(options: ScenarioOptions, platform: FixedPlatform = fixedPlatform()) {
  const store = new InMemorySessionService({ platform });
  const outages = withOutages(store);
  const played = await scenario({ platform, sessionService: outages.service, ...options });
  const stored = async () => (await store.getSession(KEY))?.events ?? [];
  const until = <T>(work: Promise<T>): Promise<T> => passTimeUntil(platform, work);
  return { ...played, store, outages, stored, until };
}

/** Advances the clock second by second. */
async function passSeconds(platform: FixedPlatform, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    platform.advance(1000);
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** Watches a promise: `isSettled` is true once the promise is settled. */
function watched(promise: Promise<unknown>): { readonly isSettled: boolean } {
  const watch = { isSettled: false };
  const settle = (): void => void (watch.isSettled = true);
  promise.then(settle, settle);
  return watch;
}

const tool = (ran: string[]) =>
  new FunctionTool({
    name: 'look',
    description: '',
    execute: (_, context) => {
      ran.push(context.functionCallId);
      context.state.set('temp:looked', true);
      context.state.set('looked', true);
      return { seen: context.functionCallId };
    },
  });

const lead = (ran: string[]) =>
  caller(scripted('helper', [{ calls: [call('look', {}, 'c2')] }, 'helped'], { tools: [tool(ran)] }));

const saidIn = (events: readonly Event[]): string[] =>
  events.map((event) => `${event.author}: ${JSON.stringify(event.content)}`);

describe('a short storage outage', () => {
  test.each<[string, Fault]>([
    ['refuses each call once', 'refused'],
    ['loses the answer to each call once', 'lost'],
  ])('and %s only delays a run', async (_, fault) => {
    const usual = await setUp({ agent: lead([]), resumable: true });
    const whole = await usual.run('hi');
    const ran: string[] = [];
    const { run, outages, stored, store, until, platform } = await setUp({ agent: lead(ran), resumable: true });
    const beganMs = platform.now();
    const failed: string[] = [];
    outages.fault = (name) => {
      if (name === 'findRun') return undefined;
      if (failed.at(-1) === name) return void failed.push('');
      failed.push(name);
      return fault;
    };
    expect(saidIn(await until(run('hi')))).toEqual(saidIn(whole));
    expect(saidIn(await stored())).toEqual(saidIn(await usual.stored()));
    expect(ran).toEqual(['c2']);
    expect(new Set(failed)).toEqual(new Set(['beginRun', '', 'appendEvent', 'recordToolCall', 'endRun']));
    // The lease did not have to expire.
    expect(platform.now() - beganMs).toBeLessThan(5000);
    expect((await store.listOpenRuns({ appName: 'app' })).runs).toEqual([]);
    expect(await usual.state()).toEqual({ ...(await store.getSession(KEY))?.state });
  });

  test.each(['findRun', 'listEvents', 'beginRun'])('that refuses %s once only delays an answer', async (refused) => {
    const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
    const model = [{ calls: [call('pay', {}, 'c1')] }, 'done'];
    const { run, outages, until } = await setUp({ model, agent: { tools: [pay] } });
    const [request] = (await run('hi')).flatMap(getFunctionCalls).filter(({ name }) => name !== 'pay');
    const { id = '', name = '' } = request ?? {};
    const answer = { functionResponse: { id, name, response: { confirmed: true } } };
    let failed = 0;
    outages.fault = (called) => (called === refused && failed++ === 0 ? 'refused' : undefined);
    const events = await until(run(answer, { requestId: 'answer' }));
    expect([failed > 0, events.map(textOf).at(-1)]).toEqual([true, 'done']);
  });

  test('that refuses one findRun only delays a run that interrupts another one of its process', async () => {
    const gate = new Gate();
    const { start, run, outages, until } = await setUp({ model: [{ gate, text: 'never' }, 'done'] });
    const interrupted = runToError(start('hi'));
    await gate.reached;
    let failed = 0;
    outages.fault = (called) => (called === 'findRun' && failed++ === 0 ? 'refused' : undefined);
    const events = await until(run('again', { requestId: 'r', runConfig: { onBusy: 'interrupt' } }));
    expect([failed > 0, events.map(textOf)]).toEqual([true, ['done']]);
    expect((await interrupted).error).toMatchObject({ code: 'RUN_ABORTED' });
  });

  test('delays the end of a failed run', async () => {
    class Refusing extends BasePlugin {
      override async onEventCallback(): Promise<undefined> {
        throw new RangeError('no');
      }
    }
    const { start, outages, stored, until } = await setUp({ model: ['one'], plugins: [new Refusing('refusing')] });
    let refused = 0;
    outages.fault = (name) => (name === 'appendEvent' && refused++ < 5 ? 'refused' : undefined);
    const { events, error } = await until(runToError(start('hi')));
    expect(error).toMatchObject({ code: 'AGENT' });
    expect(events.map(({ errorCode }) => errorCode)).toEqual(['AGENT']);
    expect((await stored()).at(-1)?.errorCode).toBe('AGENT');
    expect(refused).toBeGreaterThan(5);
  });

  test('delays the closing of a run', async () => {
    const { start, runner, outages, stored, store, until, platform } = await setUp({
      agent: lead([]),
      resumable: true,
    });
    outages.fault = (name) => (name === 'appendEvent' ? 'refused' : undefined);
    const stream = start('hi');
    await until(runToError(stream));
    const failed: string[] = [];
    outages.fault = (name) => {
      if (name === 'findRun' || failed.at(-1) === name) return void failed.push('');
      failed.push(name);
      return 'refused';
    };
    const { invocationId } = stream;
    await until(runner.closeRun({ userId: 'u', sessionId: 's', invocationId, reason: 'left' }));
    expect((await stored()).map(({ errorCode, object }) => errorCode ?? object)).toEqual([
      undefined,
      'RUN_ABANDONED',
      'runner.end',
    ]);
    expect(failed).toContain('appendEvents');
    await until(platform.drain());
    expect((await store.listOpenRuns({ appName: 'app' })).runs).toEqual([]);
  });

  test('delays lease renewals', async () => {
    const gates = [new Gate(), new Gate()];
    const { run, outages, platform, store } = await setUp({
      agent: async function* () {
        for (const gate of gates) {
          await gate.pass();
          yield modelEvent('bot', 'done');
        }
      },
      leaseTtlMs: 30_000,
    });
    const running = run('hi');
    await gates[0]?.reached;
    await passSeconds(platform, 4);
    gates[0]?.open();
    await gates[1]?.reached;
    const other = watched(store.acquireLease(KEY));
    // The lease ends after 34 seconds; its timers fire after 30 and 40.
    outages.fault = (name) => (name === 'renewLease' ? 'refused' : undefined);
    await passSeconds(platform, 28);
    outages.fault = () => undefined;
    await passSeconds(platform, 10);
    expect(other.isSettled).toBe(false);
    gates[1]?.open();
    expect((await running).map(textOf)).toEqual(['done', 'done']);
  });

  test('delays the last event until it is stored together with the outcome of the run', async () => {
    const { start, outages, platform, store, until } = await setUp({ model: ['one'] });
    outages.fault = (name) => (name === 'endRun' ? 'refused' : undefined);
    const stream = start('hi');
    const last = stream.next();
    const watch = watched(last);
    await passSeconds(platform, 3);
    expect(watch.isSettled).toBe(false);
    await expect(store.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
    outages.fault = () => undefined;
    expect(textOf((await until(last)).value ?? undefined)).toBe('one');
    expect(await until(stream.next())).toMatchObject({ done: true });
    const record = await store.findRun({ ...KEY, id: stream.invocationId });
    expect([stream.leavesRunOpen, record?.end?.state]).toEqual([false, 'completed']);
  });

  test('delays the end of the stream until the outcome of the run is stored', async () => {
    const { start, outages, platform, store, until } = await setUp({
      agent: { afterAgentCallback: () => undefined },
      model: ['one'],
    });
    outages.fault = (name) => (name === 'endRun' ? 'refused' : undefined);
    const stream = start('hi');
    expect(textOf((await stream.next()).value ?? undefined)).toBe('one');
    const end = stream.next();
    const watch = watched(end);
    await passSeconds(platform, 3);
    expect(watch.isSettled).toBe(false);
    await expect(store.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
    outages.fault = () => undefined;
    expect(await until(end)).toMatchObject({ done: true });
    const record = await store.findRun({ ...KEY, id: stream.invocationId });
    expect([stream.leavesRunOpen, record?.end?.state]).toEqual([false, 'completed']);
  });

  test('delays the unlock of the session of a failed run, not the end of its stream', async () => {
    const { start, run, outages, platform, store, until } = await setUp({
      model: [{ error: new TypeError('no') }, 'two'],
    });
    outages.fault = (name) => (name === 'releaseLease' ? 'refused' : undefined);
    await runToError(start('hi'));
    platform.advance(1000);
    await expect(store.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
    outages.fault = () => undefined;
    const startMs = platform.now();
    expect((await until(run('again'))).map(textOf)).toEqual(['two']);
    expect(platform.now() - startMs).toBeLessThan(3000);
  });
});

test('a new run waits 10 seconds for a storage that cannot be reached, and is then refused', async () => {
  const { start, outages, stored, platform, until } = await setUp({ model: ['never'], resumable: true });
  outages.fault = (name) => (name === 'beginRun' ? 'refused' : undefined);
  const beganMs = platform.now();
  const { error } = await until(runToError(start('hi')));
  expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
  expect(platform.now() - beganMs).toBeGreaterThanOrEqual(10_000);
  expect(platform.now() - beganMs).toBeLessThan(12_000);
  expect(await stored()).toEqual([]);
});

describe('a storage outage longer than the lease', () => {
  test('ends the stream with StorageError, and a resumable run stays open and can be resumed', async () => {
    const ran: string[] = [];
    const agent = scripted('bot', [{ calls: [call('look', {}, 'c1')] }, 'done'], { tools: [tool(ran)] });
    const { start, restart, outages, stored, store, platform, until } = await setUp({ agent, resumable: true });
    outages.fault = (name) => (name === 'appendEvent' && ran.length > 0 ? 'refused' : undefined);
    const beganMs = platform.now();
    const stream = start('hi');
    const { events, error } = await until(runToError(stream));
    expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    expect(StorageError.isInstance(error)).toBe(true);
    expect(platform.now() - beganMs).toBeGreaterThanOrEqual(15_000);
    expect(platform.now() - beganMs).toBeLessThan(17_000);
    // No event says that the run failed.
    expect([...events, ...(await stored())].filter(({ errorCode }) => errorCode)).toEqual([]);
    const { runs } = await store.listOpenRuns({ appName: 'app' });
    expect(runs.map(({ invocationId }) => invocationId)).toEqual([stream.invocationId]);
    outages.fault = () => undefined;
    const { runner } = restart();
    const resumed = await until(runner.run({ userId: 'u', sessionId: 's', invocationId: stream.invocationId }));
    expect(textOf(resumed.at(-2) ?? expect.unreachable())).toBe('done');
    expect(ran).toEqual(['c1']);
  });

  test('throws StorageError for a run that cannot start', async () => {
    const { start, outages, platform, until } = await setUp({ model: ['done'] });
    outages.fault = () => 'refused';
    const beganMs = platform.now();
    expect(StorageError.isInstance((await until(runToError(start('hi')))).error)).toBe(true);
    expect(platform.now() - beganMs).toBeLessThan(17_000);
  });

  test('aborts the run even if its agent catches the error', async () => {
    const reasons: unknown[] = [];
    const { start, outages, until } = await setUp({
      agent: async function* (context) {
        try {
          yield modelEvent('bot', 'one');
        } finally {
          reasons.push(context.abortSignal.reason);
        }
      },
    });
    outages.fault = (name) => (name === 'appendEvent' ? 'refused' : undefined);
    const { error } = await until(runToError(start('hi')));
    expect(StorageError.isInstance(error)).toBe(true);
    expect(reasons).toEqual([error]);
  });

  test('is not a response of AgentTool', async () => {
    const agent = lead([]);
    const { start, outages, until } = await setUp({ agent, resumable: true });
    outages.fault = (name) => {
      const asked = modelOf(agent).requests.length > 0;
      return asked && name === 'appendEvent' ? 'refused' : undefined;
    };
    expect(StorageError.isInstance((await until(runToError(start('hi')))).error)).toBe(true);
    expect(modelOf(agent).requests).toHaveLength(1);
  });

  test('does not end a run that writes nothing in that time', async () => {
    const gate = new Gate();
    const { run, outages, platform } = await setUp({
      agent: async function* () {
        await gate.pass();
        yield modelEvent('bot', 'done');
      },
    });
    const running = run('hi');
    await gate.reached;
    outages.fault = () => 'refused';
    await passSeconds(platform, 60);
    outages.fault = () => undefined;
    gate.open();
    expect((await running).map(textOf)).toEqual(['done']);
  });

  test('is reported once for all lease renewals that fail in it, and so is the next outage', async () => {
    const gate = new Gate();
    const reported: unknown[] = [];
    const fixed = fixedPlatform();
    const platform: FixedPlatform = {
      ...fixed,
      background: (work) => fixed.background(work.catch((error: unknown) => reported.push(error))),
    };
    const { run, outages } = await setUp(
      {
        agent: async function* () {
          await gate.pass();
          yield modelEvent('bot', 'done');
        },
        autoCreateSession: true,
      },
      platform,
    );
    const running = [run('hi'), run('hi', { sessionId: 'other' })];
    await gate.reached;
    let refused = 0;
    for (const outage of [1, 2]) {
      outages.fault = (name) => (name === 'renewLease' ? (refused++, 'refused') : undefined);
      await passSeconds(platform, 90);
      expect(reported).toHaveLength(outage);
      expect(refused).toBeGreaterThan(4);
      outages.fault = () => undefined;
      await passSeconds(platform, 30);
    }
    expect(reported).toEqual([expect.any(StorageError), expect.any(StorageError)]);
    gate.open();
    expect((await Promise.all(running)).flat().map(textOf)).toEqual(['done', 'done']);
  });
});

describe('repeated writes end', () => {
  async function stuck() {
    const steps = ['one', 'two'].map((text) => modelEvent('bot', text));
    const played = await setUp({
      agent: async function* () {
        yield* steps;
      },
    });
    const reached = Promise.withResolvers<void>();
    const controller = new AbortController();
    const stream = played.start('hi', { abortSignal: controller.signal });
    await stream.next();
    played.outages.fault = () => (reached.resolve(), 'refused');
    const next = stream.next().catch((error: unknown) => error);
    await reached.promise;
    return { ...played, next, controller };
  }

  test('on an abort', async () => {
    const { next, controller, platform } = await stuck();
    const beganMs = platform.now();
    controller.abort();
    expect(await next).toBeInstanceOf(RunAbortedError);
    expect(platform.now()).toBe(beganMs);
  });

  test('on the loss of the lease', async () => {
    const { next, outages, store, until } = await stuck();
    await store.acquireLease({ ...KEY, onBusy: 'interrupt' });
    outages.fault = () => undefined;
    expect(await until(next)).toBeInstanceOf(StaleWriterError);
  });
});

test('a StorageError thrown by a tool fails the run and is not sent to a model', async () => {
  const look = new FunctionTool({
    name: 'look',
    description: '',
    execute: () => {
      throw StorageError.of('the artifact storage', new Error('disk full at /data'));
    },
  });
  const { start, model, stored } = await setUp({
    model: [{ calls: [call('look')] }, 'done'],
    agent: { tools: [look] },
  });
  const { events, error } = await runToError(start('hi'));
  expect(StorageError.isInstance(error)).toBe(true);
  expect(model.requests).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ errorCode: 'STORAGE_UNAVAILABLE' });
  const ended = 'the run failed, because a storage was not available; to try again, send a new message';
  expect([error, (await stored()).at(-1)]).toMatchObject([
    { message: 'the artifact storage is not available: disk full at /data', publicMessage: ended, retryable: false },
    { errorCode: 'STORAGE_UNAVAILABLE', errorMessage: ended },
  ]);
  const responses = events.flatMap(getFunctionResponses).map(({ response }) => response);
  expect(responses).toEqual([{ error: 'interrupted', message: expect.any(String) as string }]);
});

test('a refused message leaves no open run behind if the answer to the call that began it was lost', async () => {
  const { run, start, outages, store, until } = await setUp({
    agent: scripted('bot', [{ calls: [call('look', {}, 'c1')] }, 'Done.'], {
      tools: [new FunctionTool({ name: 'look', description: '', requireConfirmation: true, execute: () => 'seen' })],
    }),
    resumable: true,
  });
  const asked = (await run('go')).flatMap(getFunctionCalls).at(-1)?.id;
  const approval = {
    functionResponse: { id: asked ?? '', name: 'adk_request_confirmation', response: { confirmed: true } },
  };
  await run([approval]);
  let begun = 0;
  outages.fault = (name) => (name === 'beginRun' && ++begun === 1 ? 'lost' : undefined);
  const { error } = await until(runToError(start([approval])));
  expect(error).toMatchObject({ code: 'INVALID_MESSAGE' });
  expect(begun).toBe(2);
  expect((await store.listOpenRuns({ appName: 'app' })).runs).toEqual([]);
});

describe('a shutdown during a storage outage', () => {
  const shuttingDown = new ShuttingDownError('the server is shutting down');

  test('is not given as the reason for refusing a message if the storage did not answer', async () => {
    const { start, outages, stored } = await setUp({ model: ['never'], resumable: true });
    const abort = new AbortController();
    outages.fault = (name) => {
      if (name !== 'beginRun') return undefined;
      setTimeout(() => abort.abort(shuttingDown));
      return 'lost';
    };
    const { error } = await runToError(start('hi', { abortSignal: abort.signal }));
    expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    expect(await stored()).toHaveLength(1);
  });

  test('leaves a resumable run open whose message is stored and whose earlier events cannot be read', async () => {
    const { start, outages, stored, store } = await setUp({ model: ['never'], resumable: true });
    const session = await store.getSession(KEY);
    for (let at = 0; at < 150; at++)
      if (session) await store.appendEvent({ session, event: modelEvent('bot', `${at}`) });
    const abort = new AbortController();
    outages.fault = (name) => {
      if (name !== 'getSession') return undefined;
      abort.abort(shuttingDown);
      return 'refused';
    };
    const stream = start('hi', { abortSignal: abort.signal });
    const { error } = await runToError(stream);
    expect(error).toMatchObject({ code: 'RUN_ABORTED' });
    expect([await stream.whenBegun(), stream.leavesRunOpen]).toEqual([true, true]);
    expect((await stored()).at(-1)).toMatchObject({ author: 'user', invocationId: stream.invocationId });
    expect((await store.listOpenRuns({ appName: 'app' })).runs).toMatchObject([{ invocationId: stream.invocationId }]);
  });
});
