import { InMemoryArtifactService } from '@eventloom/artifacts';
import {
  type BaseAgent,
  BasePlugin,
  RunAbortedError,
  type Event,
  SessionBusyError,
  SessionNotFoundError,
  StaleWriterError,
  UnfinishedRunError,
  type BeginRunRequest,
  type BegunRun,
} from '@eventloom/core';
import { fixedPlatform, Gate, modelEvent } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { Runner } from './runner.ts';
import type { Script } from './fixtures/custom-agent.ts';
import { CountingService, echo, KEY, saying, setUp, textOf } from './fixtures/leased-run.ts';
import { runToError, scenario, scripted } from './fixtures/scenario.ts';

// Two runs of one session.

test('runs of one session run in the order of their calls', async () => {
  const a = new Gate();
  const { runner, stored } = await setUp(echo({ a }));
  const first = runner.run(saying('a'));
  await a.reached;
  const others = ['b', 'c'].map((text) => runner.run(saying(text)));
  a.open();
  await Promise.all([first, ...others]);
  expect(await stored()).toEqual(['a', 'heard a', 'done a', 'b', 'heard b', 'done b', 'c', 'heard c', 'done c']);
});

test('a run that waited sees the events of the previous run', async () => {
  const a = new Gate();
  const { runner } = await setUp(async function* (context) {
    const seen = context.session.events.length;
    yield modelEvent('bot', String(seen), { actions: { stateDelta: { seen } } });
    if (seen === 1) await a.pass();
    else expect(context.session.state).toEqual({ seen: 3 });
  });
  const first = runner.run(saying('a'));
  await a.reached;
  const second = runner.run(saying('b'));
  a.open();
  await first;
  expect((await second).map(textOf)).toEqual(['3']);
});

test('with onBusy reject a second run throws a retryable error and writes nothing', async () => {
  const a = new Gate();
  const { runner, stored } = await setUp(echo({ a }));
  const first = runner.run(saying('a'));
  await a.reached;
  const error: unknown = await runner
    .run(saying('b', { runConfig: { onBusy: 'reject' } }))
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SessionBusyError);
  expect(error).toMatchObject({ retryable: true });
  a.open();
  await first;
  expect(await stored()).toEqual(['a', 'heard a', 'done a']);
});

test('with onBusy queue a run waits at most busyWaitMs', async () => {
  const a = new Gate();
  const { runner, platform } = await setUp(echo({ a }));
  const first = runner.run(saying('a'));
  await a.reached;
  const second = runner.run(saying('b', { runConfig: { busyWaitMs: 5000 } })).catch((thrown: unknown) => thrown);
  // The keeper's timer exists already; the queue sets its own when it waits.
  while (platform.pendingTimers < 2) await Promise.resolve();
  platform.advance(5000);
  expect(await second).toBeInstanceOf(SessionBusyError);
  a.open();
  await first;
});

test('with onBusy interrupt the running run stores its end and throws RunAbortedError, and the new one sees its events', async () => {
  const a = new Gate();
  const reported: unknown[] = [];
  class Telling extends BasePlugin {
    override onRunErrorCallback({ error }: { error: Error }): void {
      reported.push(error);
    }
  }
  const { runner, stored } = await setUp(echo({ a }), { plugins: [new Telling('telling')] });
  const events: Event[] = [];
  const first = (async () => {
    for await (const event of runner.runAsync(saying('a', { runConfig: { completionEvent: true } })))
      events.push(event);
  })().catch((thrown: unknown) => thrown);
  await a.reached;
  await runner.run(saying('b', { runConfig: { onBusy: 'interrupt' } }));
  a.open();
  const error = await first;
  expect(error).toBeInstanceOf(RunAbortedError);
  expect(reported).toEqual([error]);
  expect(events.map((event) => event.object ?? textOf(event))).toEqual(['heard a', 'runner.completion']);
  // The interrupted run stored its end.
  expect(await stored()).toEqual(['a', 'heard a', undefined, 'b', 'heard b', 'done b']);
});

test('the signal of an interrupted run fires', async () => {
  const waiting = Promise.withResolvers<void>();
  const { runner } = await setUp(async function* (context) {
    if (context.userContent?.parts?.[0]?.text === 'b') return;
    await new Promise<void>((_, reject) => {
      context.abortSignal.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')));
      waiting.resolve();
    });
    yield modelEvent('bot', 'never');
  });
  const first = runner.run(saying('a')).catch((thrown: unknown) => thrown);
  await waiting.promise;
  await runner.run(saying('b', { runConfig: { onBusy: 'interrupt' } }));
  expect(await first).toBeInstanceOf(RunAbortedError);
});

test('a third run can interrupt the second one after the first, which the second one interrupted, has ended late', async () => {
  const gate = new Gate();
  const stopped: string[] = [];
  const { runner } = await setUp(async function* (context) {
    const name = context.userContent?.parts?.[0]?.text ?? '';
    context.abortSignal.addEventListener('abort', () => void stopped.push(name));
    if (name === 'b') await gate.pass();
    yield modelEvent('bot', name);
  });
  const interrupt = { runConfig: { onBusy: 'interrupt' } } as const;
  const first = runner.runAsync(saying('a'));
  await first.next();
  const second = runner.run(saying('b', interrupt)).catch((thrown: unknown) => thrown);
  await gate.reached;
  await expect(first.next()).rejects.toThrow(StaleWriterError);
  expect(stopped).toEqual(['a']);
  await runner.run(saying('c', interrupt));
  expect(stopped).toEqual(['a', 'b']);
  expect(await second).toBeInstanceOf(RunAbortedError);
});

test('an interrupted run does not wait for an agent that ignores the abort', async () => {
  const a = new Gate();
  const { runner } = await setUp(echo({ a }));
  const first = runner.run(saying('a')).catch((thrown: unknown) => thrown);
  await a.reached;
  await runner.run(saying('b', { runConfig: { onBusy: 'interrupt' } }));
  expect(await first).toBeInstanceOf(RunAbortedError);
});

test('a run whose session another process took fails at its next event, which is not stored', async () => {
  const a = new Gate();
  const { runner, sessionService, stored, platform } = await setUp(echo({ a }));
  const other = new Runner({ appName: 'app', agent: runner.agent, sessionService, platform });
  const events: Event[] = [];
  const first = (async () => {
    for await (const event of runner.runAsync(saying('a'))) events.push(event);
  })().catch((thrown: unknown) => thrown);
  await a.reached;
  await other.run(saying('b', { runConfig: { onBusy: 'interrupt' } }));
  a.open();
  expect(await first).toBeInstanceOf(StaleWriterError);
  expect(events.map(textOf)).toEqual(['heard a']);
  expect(await stored()).toEqual(['a', 'heard a', undefined, 'b', 'heard b', 'done b']);
  await platform.drain();
});

describe('a run that loses its session between its last event and its end', () => {
  /** Another process runs the next message while the first run is stopped after its last event. */
  async function stopped(agent: BaseAgent | Script) {
    const gate = new Gate();
    class Stopping extends BasePlugin {
      override afterRunCallback(): Promise<void> {
        return gate.pass();
      }
    }
    const { runner, platform, sessionService } = await scenario({ agent, plugins: [new Stopping('stopping')] });
    const stream = runner.runAsync(saying('a', { runConfig: { completionEvent: true } }));
    const reading = (async () => {
      const events: Event[] = [];
      for await (const event of stream) events.push(event);
      return events;
    })().catch((thrown: unknown) => thrown);
    await gate.reached;
    const other = new Runner({ appName: 'app', agent: runner.agent, sessionService, platform });
    await other.run(saying('b', { runConfig: { onBusy: 'interrupt' } }));
    gate.open();
    const record = async () => sessionService.findRun({ ...KEY, id: stream.invocationId });
    return { result: await reading, stream, end: (await record())?.end };
  }

  const heard: Script = async function* () {
    yield modelEvent('bot', 'heard');
  };

  test('does not end as completed if another process closed it', async () => {
    const { result, stream, end } = await stopped(heard);
    expect(result).toBeInstanceOf(StaleWriterError);
    expect(end).toMatchObject({ state: 'interrupted', code: 'RUN_ABANDONED' });
    expect(stream.leavesRunOpen).toBe(true);
  });

  test('ends as completed if another process found its answer', async () => {
    const { result, stream, end } = await stopped(scripted('bot', ['one', 'two']));
    expect(result).toMatchObject([{ author: 'bot' }, { customMetadata: { outcome: 'completed' } }]);
    expect(end).toMatchObject({ state: 'completed' });
    expect(stream.leavesRunOpen).toBe(false);
  });
});

test('runs of different sessions are independent', async () => {
  const a = new Gate();
  const { runner, sessionService } = await setUp(echo({ a }));
  await sessionService.createSession({ ...KEY, sessionId: 'other' });
  const first = runner.run(saying('a'));
  await a.reached;
  expect(await runner.run(saying('b', { sessionId: 'other' }))).toHaveLength(2);
  a.open();
  await first;
});

test('autoCreateSession does not create a session that is busy', async () => {
  let asked = 0;
  class Asked extends CountingService {
    override async beginRun(request: BeginRunRequest): Promise<BegunRun> {
      asked++;
      return super.beginRun(request);
    }
  }
  const a = new Gate();
  const sessionService = new Asked();
  const { runner } = await setUp(echo({ a }), { sessionService, autoCreateSession: true });
  const first = runner.run(saying('a'));
  await a.reached;
  asked = 0;
  await expect(runner.run(saying('b', { runConfig: { onBusy: 'reject' } }))).rejects.toBeInstanceOf(SessionBusyError);
  expect(asked).toBe(1);
  a.open();
  await first;
});

test('autoCreateSession does not create a session again that is deleted while a run waits for it', async () => {
  const { runner, sessionService } = await setUp(echo({}), { autoCreateSession: true });
  const { lease } = await sessionService.beginRun({ ...KEY, invocationId: 'e-open', resumable: true });
  await sessionService.releaseLease(lease, { keepRunOpen: true });
  const waiting = runner.runAsync(saying('a', { runConfig: { onOpenRun: 'reject' } }));
  await expect(waiting.next()).rejects.toBeInstanceOf(UnfinishedRunError);
  await sessionService.deleteSession(KEY);
  await expect(waiting.retry().next()).rejects.toBeInstanceOf(SessionNotFoundError);
  expect(await sessionService.getSession(KEY)).toBeUndefined();
  expect(await runner.run(saying('b'))).toHaveLength(2);
});

test('a run whose session is taken before its message is stored is refused and can be repeated', async () => {
  let isTaken = false;
  const { runner, sessionService, stored } = await setUp(echo({}), {
    plugins: [
      // Plugins may replace the message, so it is stored after the session is locked.
      new (class extends BasePlugin {
        override async onUserMessageCallback(): Promise<undefined> {
          if (isTaken) return;
          isTaken = true;
          await sessionService.releaseLease(await sessionService.acquireLease({ ...KEY, onBusy: 'interrupt' }));
        }
      })('slow'),
    ],
  });
  await expect(runner.run(saying('a'))).rejects.toBeInstanceOf(SessionBusyError);
  expect(await stored()).toEqual([]);
  await runner.run(saying('a'));
  expect(await stored()).toEqual(['a', 'heard a', 'done a']);
});

test('a tool saves no artifact if another process took the session while its own process was stopped', async () => {
  const platform = fixedPlatform();
  let stoppedMs = 0;
  const now = platform.now.bind(platform);
  // The timers of a stopped process do not run.
  platform.now = () => now() + stoppedMs;
  const gate = new Gate();
  const saving = Promise.withResolvers<Promise<number>>();
  const save = new FunctionTool({
    name: 'save',
    description: '',
    execute: async (_, context) => {
      await gate.pass();
      const saved = context.saveArtifact('late.txt', { text: 'late' });
      saving.resolve(saved);
      return saved;
    },
  });
  const artifactService = new InMemoryArtifactService();
  const model = [{ calls: [{ name: 'save' }] }];
  const { start, restart } = await scenario({ platform, artifactService, model, agent: { tools: [save] } });
  const stopped = runToError(start());
  await gate.reached;
  stoppedMs = 60_000;
  await restart({ agent: { tools: [] }, model: ['Hello.'] }).run('hello');
  gate.open();
  await expect(saving.promise).rejects.toMatchObject({ code: 'STALE_WRITER' });
  expect((await stopped).error).toMatchObject({ code: 'STALE_WRITER' });
  expect(await artifactService.listArtifactKeys(KEY)).toEqual([]);
});
