import {
  type BegunRun,
  BaseAgent,
  createEvent,
  type Event,
  InvalidRequestError,
  type OpenRun,
  type RunConfig,
  RunAbortedError,
  SessionBusyError,
  ShuttingDownError,
  StreamingMode,
  type MaybePromise,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, modelEvent, ScriptedModel } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import type { Script } from '../fixtures/custom-agent.ts';
import { KEY, saying, scenario } from '../fixtures/scenario.ts';

/** A storage that fails on demand. */
class FailingService extends InMemorySessionService {
  fails: 'appendEvent' | 'beginRun' | undefined;
  /** Called once, before a run is resumed or closed. */
  beforeContinued: (() => Promise<void>) | undefined;

  override appendEvent(...given: Parameters<InMemorySessionService['appendEvent']>): MaybePromise<Event> {
    return this.fails === 'appendEvent' ? Promise.reject(new TypeError('no disk')) : super.appendEvent(...given);
  }

  override beginRun(...given: Parameters<InMemorySessionService['beginRun']>): MaybePromise<BegunRun> {
    if (this.fails === 'beginRun') return Promise.reject(new TypeError('no disk'));
    const { beforeContinued } = this;
    if (!beforeContinued || given[0].continues !== true) return super.beginRun(...given);
    this.beforeContinued = undefined;
    return beforeContinued().then(() => super.beginRun(...given));
  }
}

async function setUp(agent: BaseAgent | Script, resumable = true) {
  const platform = fixedPlatform();
  const sessionService = new FailingService({ platform });
  const played = await scenario({ agent, platform, sessionService, resumable });
  const open = async (): Promise<OpenRun[]> => (await played.runner.listOpenRuns()).runs;
  const controller = new AbortController();
  const hi = saying('hi', { abortSignal: controller.signal });
  return { ...played, sessionService, open, controller, hi };
}

/** An agent that yields one text, waits at a gate, and yields another. */
const halting = (gate: Gate): Script =>
  async function* ({ abortSignal }) {
    yield modelEvent('bot', 'one');
    await gate.pass(abortSignal);
    yield modelEvent('bot', 'two');
  };

const abortable = () => {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) };
};

const shuttingDown = () => new ShuttingDownError('the server is shutting down');

const textsOf = (events: readonly Event[]) => events.flatMap(({ content }) => content?.parts?.[0]?.text ?? []);

/** Yields the events of a run up to its abort. */
async function* untilAborted(stream: AsyncGenerator<Event, void, void>): AsyncGenerator<Event, void, void> {
  try {
    yield* stream;
  } catch (error) {
    if (!RunAbortedError.isInstance(error)) throw error;
  }
}

describe('an open run', () => {
  test('is a resumable run from its start until its end', async () => {
    const gate = new Gate();
    const { runner, open } = await setUp(halting(gate));
    const stream = runner.runAsync(saying());
    const events: Event[] = [];
    const running = (async () => {
      for await (const event of stream) events.push(event);
    })();
    await gate.reached;
    expect(await open()).toMatchObject([{ ...KEY, invocationId: stream.invocationId, attempts: 1 }]);
    gate.open();
    await running;
    expect(textsOf(events)).toEqual(['one', 'two']);
    expect(await open()).toEqual([]);
  });

  test('says whether it can be resumed', async () => {
    const gate = new Gate();
    const { runner, open } = await setUp(halting(gate), false);
    const running = runner.run(saying());
    await gate.reached;
    expect(await open()).toMatchObject([{ resumable: false, attempts: 1 }]);
    gate.open();
    await running;
    expect(await open()).toEqual([]);
  });

  test('stays open through any number of shutdowns, and completes', async () => {
    const gate = new Gate();
    const { runner, open, hi, controller, stored } = await setUp(halting(gate));
    const running = runner.run(hi);
    await gate.reached;
    controller.abort(shuttingDown());
    await expect(running).rejects.toThrow(RunAbortedError);
    const [left] = await open();
    expect(left).toMatchObject({ attempts: 0, heldUntilMs: 0 });
    const { invocationId = '' } = left ?? {};
    const again = new AbortController();
    const resuming = runner.runAsync({ ...KEY, invocationId, abortSignal: again.signal });
    await resuming.next();
    again.abort(shuttingDown());
    await expect(resuming.next()).rejects.toThrow(RunAbortedError);
    expect(await open()).toMatchObject([{ invocationId, attempts: 0, heldUntilMs: 0 }]);
    gate.open();
    await runner.run({ ...KEY, invocationId });
    expect(await open()).toEqual([]);
    expect((await stored()).at(-1)?.object).toBe('runner.end');
  });

  test('delays a message until a second open run is closed too, if another process left that one after closing the first', async () => {
    const { runner, open, sessionService, stored } = await setUp(async function* ({ abortSignal, userContent }) {
      if (userContent?.parts?.[0]?.text !== 'last') await new Gate().pass(abortSignal);
      yield modelEvent('bot', 'done');
    });
    const leave = async (text: string): Promise<string> => {
      const { signal, abort } = abortable();
      const stream = runner.runAsync(saying(text, { abortSignal: signal }));
      const left = expect(stream.next()).rejects.toThrow(RunAbortedError);
      await stream.whenBegun();
      abort(shuttingDown());
      await left;
      return stream.invocationId;
    };
    const first = await leave('first');
    let second: string | undefined;
    sessionService.beforeContinued = async () => {
      const { userId, sessionId } = KEY;
      await runner.closeRun({ userId, sessionId, invocationId: first, reason: 'closed elsewhere' });
      second = await leave('second');
    };
    const events = await runner.run(saying('last', { runConfig: { onOpenRun: 'close' } }));
    expect(textsOf(events)).toEqual(['done']);
    expect(second).toBeDefined();
    expect(await open()).toEqual([]);
    const failed = (await stored()).flatMap(({ errorCode, invocationId }) => (errorCode ? [invocationId] : []));
    expect(failed).toEqual([first, second]);
  });

  test('ends when it is cancelled, and is not resumed', async () => {
    const gate = new Gate();
    const { runner, open, hi, controller, stored } = await setUp(halting(gate));
    const running = runner.run(hi);
    await gate.reached;
    controller.abort(new RunAbortedError('the run was cancelled'));
    await expect(running).rejects.toThrow(RunAbortedError);
    expect(await open()).toEqual([]);
    gate.open();
    const events = await stored();
    expect(events.slice(-2)).toMatchObject([{ errorCode: 'RUN_ABORTED' }, { object: 'runner.end' }]);
    const again = runner.run({ ...KEY, invocationId: events[0]?.invocationId });
    await expect(again).rejects.toThrow(InvalidRequestError);
    expect(await stored()).toEqual(events);
  });

  test('ends when its reader stops', async () => {
    const { runner, open, hi } = await setUp(halting(new Gate()));
    for await (const _event of runner.runAsync(hi)) break;
    expect(await open()).toEqual([]);
  });

  test('ends when it fails', async () => {
    const { runner, open } = await setUp(async function* () {
      yield modelEvent('bot', 'one');
      throw new TypeError('broken');
    });
    await expect(runner.run(saying())).rejects.toThrow('broken');
    expect(await open()).toEqual([]);
  });

  test('stays open if its failure could not be stored', async () => {
    const { runner, open, sessionService, platform } = await setUp(async function* () {
      yield modelEvent('bot', 'one');
      sessionService.fails = 'appendEvent';
      yield modelEvent('bot', 'two');
    });
    await expect(runner.run(saying())).rejects.toThrow('no disk');
    expect(await open()).toMatchObject([{ attempts: 1, heldUntilMs: 0 }]);
    await expect(platform.drain()).rejects.toThrow('no disk');
  });

  test('ends while it waits for an answer', async () => {
    const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
    const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'wait' }] }]);
    const { runner, open } = await setUp(new LlmAgent({ name: 'bot', model, tools: [wait] }));
    await runner.run(saying());
    expect(await open()).toEqual([]);
  });

  test('does not exist if its message could not be stored', async () => {
    const { runner, open, sessionService } = await setUp(halting(new Gate()));
    sessionService.fails = 'beginRun';
    await expect(runner.run(saying())).rejects.toThrow('no disk');
    expect(await open()).toEqual([]);
  });
});

describe('a resumed run', () => {
  async function left(script: Script, config: RunConfig = {}) {
    const setup = await setUp(script);
    const { runner, hi, controller, open } = setup;
    const stream = runner.runAsync({ ...hi, runConfig: config });
    for await (const event of untilAborted(stream)) if (event.content) controller.abort(shuttingDown());
    const [run] = await open();
    return { ...setup, params: { userId: 'u', sessionId: 's', invocationId: run?.invocationId ?? '' } };
  }

  test('stays open if its session cannot be read', async () => {
    const { runner, open, params, sessionService } = await left(halting(new Gate()));
    sessionService.fails = 'beginRun';
    await expect(runner.run(params)).rejects.toThrow('no disk');
    expect(await open()).toMatchObject([{ invocationId: params.invocationId, heldUntilMs: 0 }]);
  });

  test('is closed by an attempt to resume it if the session has nothing of it', async () => {
    const { runner, open, params, sessionService } = await left(halting(new Gate()));
    // As another program rewinds: `rewindAsync` closes the run first.
    const actions = { rewindBeforeInvocationId: params.invocationId };
    const session = await sessionService.getSession(KEY);
    const event = createEvent({ author: 'user', invocationId: 'other', actions });
    await sessionService.appendEvent({ session: session ?? expect.unreachable(), event });
    expect(await open()).toHaveLength(1);
    await expect(runner.run(params)).rejects.toThrow(InvalidRequestError);
    expect(await open()).toEqual([]);
    await sessionService.releaseLease(await sessionService.acquireLease({ ...KEY, onBusy: 'reject' }));
  });

  test('is closed with its outcome by an attempt to resume it if the session has its end', async () => {
    const gate = new Gate();
    gate.open();
    const { runner, open, sessionService, stored } = await setUp(halting(gate));
    const { invocationId } = (await runner.run(saying()))[0] ?? expect.unreachable();
    const before = await stored();
    // The state after a process that ended before it released the session.
    const run = await sessionService.beginRun({ ...KEY, invocationId, resumable: true, continues: true });
    await sessionService.releaseLease(run.lease, { keepRunOpen: true });
    expect(await open()).toHaveLength(1);
    await expect(runner.run({ userId: 'u', sessionId: 's', invocationId })).rejects.toThrow('has ended');
    expect(await open()).toEqual([]);
    expect(await stored()).toEqual(before);
    const end = { state: 'completed' };
    expect(await sessionService.findRun({ ...KEY, id: invocationId })).toMatchObject({ end });
  });

  test('keeps its options unless others are given', async () => {
    const gate = new Gate();
    gate.open();
    const script: Script = async function* (context) {
      yield modelEvent('bot', 'one');
      yield { ...modelEvent('bot', 'chunk'), partial: true };
      yield modelEvent('bot', `${context.runConfig.streamingMode} ${context.runConfig.maxLlmCalls}`);
    };
    const began = { streamingMode: StreamingMode.SSE, maxLlmCalls: 7, completionEvent: true } as const;
    const { runner, params } = await left(script, began);
    const events = await runner.run({ ...params, runConfig: { maxLlmCalls: 8 } });
    expect(textsOf(events)).toEqual(['one', 'chunk', 'sse 8']);
    expect(events.at(-1)?.object).toBe('runner.completion');
  });

  test('yields its earlier events with replay, each at its offset', async () => {
    const gate = new Gate();
    gate.open();
    const { runner, params } = await left(halting(gate));
    const stream = runner.runAsync({ ...params, replay: true });
    const started = stream.whenBegun();
    const events: Event[] = [];
    const offsets: number[] = [];
    for await (const event of stream) {
      events.push(event);
      offsets.push(stream.offset);
    }
    expect(textsOf(events)).toEqual(['one', 'one', 'two']);
    expect(offsets.slice(0, 3)).toEqual([1, 2, 3]);
    expect(await started).toBe(true);
  });

  test('is not started if its session does not exist', async () => {
    const { runner, params, sessionService } = await left(halting(new Gate()));
    const lease = await sessionService.acquireLease(KEY);
    const stream = runner.runAsync({ ...params, runConfig: { onBusy: 'reject' } });
    await expect(stream.next()).rejects.toThrow(SessionBusyError);
    expect(await stream.whenBegun()).toBe(false);
    await sessionService.releaseLease(lease);
    expect((await runner.listOpenRuns()).runs).toMatchObject([{ attempts: 0 }]);
  });
});
