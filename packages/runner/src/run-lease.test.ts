import {
  BaseAgent,
  BasePlugin,
  type Event,
  type InvocationContext,
  type Platform,
  SessionBusyError,
  type SessionLease,
  StaleWriterError,
} from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import type { RunAsyncParams } from './run-params.ts';
import type { RunnerConfig } from './runner-config.ts';

type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

class CustomAgent extends BaseAgent {
  readonly #script: Script;

  constructor(script: Script) {
    super({ name: 'bot' });
    this.#script = script;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#script(context);
  }
}

/** Says how its leases are renewed. */
class CountingService extends InMemorySessionService {
  renewals = 0;
  failure: Error | undefined;

  override async renewLease(lease: SessionLease): Promise<void> {
    this.renewals++;
    if (this.failure) throw this.failure;
    return super.renewLease(lease);
  }
}

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

async function setUp(script: Script, config: Partial<RunnerConfig> = {}) {
  const platform = fixedPlatform();
  const sessionService = new CountingService({ platform });
  const agent = new CustomAgent(script);
  const runner = new Runner({ appName: 'app', agent, sessionService, platform, leaseTtlMs: 30_000, ...config });
  await sessionService.createSession(KEY);
  const stored = async () => {
    const session = (await sessionService.getSession(KEY)) ?? expect.unreachable();
    return session.events.map(textOf);
  };
  return { runner, platform, sessionService, stored };
}

function saying(text: string, params: Partial<RunAsyncParams> = {}): RunAsyncParams {
  return { userId: 'u', sessionId: 's', newMessage: { parts: [{ text }] }, ...params };
}

function textOf(event: Event): string | undefined {
  return event.content?.parts?.[0]?.text;
}

/** Answers what the user said, after the gate of that message. */
function echo(gates: Readonly<Record<string, Gate>>): Script {
  return async function* (context) {
    const text = context.userContent?.parts?.[0]?.text ?? '';
    yield modelEvent('bot', `heard ${text}`);
    await gates[text]?.pass();
    yield modelEvent('bot', `done ${text}`);
  };
}

// Two runs of one session.

test('runs of one session follow each other in the order they were asked for', async () => {
  const a = new Gate();
  const { runner, stored } = await setUp(echo({ a }));
  const first = runner.run(saying('a'));
  await a.reached;
  const others = ['b', 'c'].map((text) => runner.run(saying(text)));
  a.open();
  await Promise.all([first, ...others]);
  expect(await stored()).toEqual(['a', 'heard a', 'done a', 'b', 'heard b', 'done b', 'c', 'heard c', 'done c']);
});

test('a run that waited sees what the one before it stored', async () => {
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

test('with onBusy reject a second run fails at once, may be tried again, and writes nothing', async () => {
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

test('with onBusy queue a run waits no longer than busyWaitMs', async () => {
  const a = new Gate();
  const { runner, platform } = await setUp(echo({ a }));
  const first = runner.run(saying('a'));
  await a.reached;
  const second = runner.run(saying('b', { runConfig: { busyWaitMs: 5000 } })).catch((thrown: unknown) => thrown);
  // The keeper's timer is there already; the queue sets its own when it waits.
  while (platform.pendingTimers < 2) await Promise.resolve();
  platform.advance(5000);
  expect(await second).toBeInstanceOf(SessionBusyError);
  a.open();
  await first;
});

test('with onBusy interrupt the run under way ends as a stale writer, and the new one sees what was committed', async () => {
  const a = new Gate();
  const told: unknown[] = [];
  class Telling extends BasePlugin {
    override onRunErrorCallback({ error }: { error: Error }): void {
      told.push(error);
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
  expect(error).toBeInstanceOf(StaleWriterError);
  expect(told).toEqual([error]);
  expect(events.map((event) => event.object ?? textOf(event))).toEqual(['heard a', 'runner.completion']);
  expect(await stored()).toEqual(['a', 'heard a', 'b', 'heard b', 'done b']);
});

test('an interrupted run is told by its signal, so that work which listens stops', async () => {
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
  expect(await first).toBeInstanceOf(StaleWriterError);
});

test('an interrupted run that ends late does not hide the run that took its place', async () => {
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
  expect(await second).toBeInstanceOf(StaleWriterError);
});

test('an interrupted run does not wait for an agent that does not listen', async () => {
  const a = new Gate();
  const { runner } = await setUp(echo({ a }));
  const first = runner.run(saying('a')).catch((thrown: unknown) => thrown);
  await a.reached;
  await runner.run(saying('b', { runConfig: { onBusy: 'interrupt' } }));
  expect(await first).toBeInstanceOf(StaleWriterError);
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
  expect(await stored()).toEqual(['a', 'heard a', 'b', 'heard b', 'done b']);
  await platform.drain();
});

test('runs of different sessions do not wait for each other', async () => {
  const a = new Gate();
  const { runner, sessionService } = await setUp(echo({ a }));
  await sessionService.createSession({ ...KEY, sessionId: 'other' });
  const first = runner.run(saying('a'));
  await a.reached;
  expect(await runner.run(saying('b', { sessionId: 'other' }))).toHaveLength(2);
  a.open();
  await first;
});

// Keeping the lease.

test('a long silence of the agent does not lose the session', async () => {
  const a = new Gate();
  const { runner, platform, sessionService } = await setUp(echo({ a }));
  const running = runner.run(saying('a'));
  await a.reached;
  for (let minute = 0; minute < 30; minute++) {
    platform.advance(10_000);
    await platform.drain();
    const other = sessionService.acquireLease({ ...KEY, onBusy: 'reject' });
    await expect(other).rejects.toBeInstanceOf(SessionBusyError);
  }
  expect(sessionService.renewals).toBeGreaterThan(10);
  a.open();
  expect(await running).toHaveLength(2);
});

test('a run that appends renews by that, and not once more', async () => {
  const steps = Array.from({ length: 4 }, () => new Gate());
  const { runner, platform, sessionService } = await setUp(async function* () {
    for (const [index, step] of steps.entries()) {
      await step.pass();
      yield modelEvent('bot', `step ${index}`);
    }
  });
  const running = runner.run(saying('a'));
  for (const step of steps) {
    await step.reached;
    platform.advance(4900);
    await platform.drain();
    step.open();
  }
  await running;
  expect(sessionService.renewals).toBe(0);
});

test('an event that an agent dated itself does not keep its lease from being renewed', async () => {
  const a = new Gate();
  const { runner, platform, sessionService } = await setUp(async function* () {
    yield modelEvent('bot', 'from the future', { timestamp: Date.UTC(2100, 0, 1) / 1000 });
    await a.pass();
    yield modelEvent('bot', 'now');
  });
  const running = runner.run(saying('a'));
  await a.reached;
  for (let tick = 0; tick < 4; tick++) {
    platform.advance(10_000);
    await platform.drain();
  }
  await expect(sessionService.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toBeInstanceOf(SessionBusyError);
  a.open();
  expect(await running).toHaveLength(2);
});

test('a run that finds its lease lost ends as a stale writer, also in the middle of silence', async () => {
  const waiting = Promise.withResolvers<void>();
  const { runner, platform, sessionService, stored } = await setUp(async function* (context) {
    yield modelEvent('bot', 'one');
    await new Promise<void>((_, reject) => {
      context.abortSignal.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')));
      waiting.resolve();
    });
  });
  const running = runner.run(saying('a')).catch((thrown: unknown) => thrown);
  await waiting.promise;
  await sessionService.acquireLease({ ...KEY, onBusy: 'interrupt' });
  platform.advance(10_000);
  expect(await running).toBeInstanceOf(StaleWriterError);
  expect(await stored()).toEqual(['a', 'one']);
});

test('a renewal that fails for another reason is reported and tried again', async () => {
  const a = new Gate();
  const { runner, platform, sessionService } = await setUp(echo({ a }));
  const running = runner.run(saying('a'));
  await a.reached;
  sessionService.failure = new RangeError('connection lost');
  platform.advance(10_000);
  await expect(platform.drain()).rejects.toThrow('connection lost');
  sessionService.failure = undefined;
  platform.advance(10_000);
  await platform.drain();
  expect(sessionService.renewals).toBe(2);
  a.open();
  expect(await running).toHaveLength(2);
});

test('one timer serves all runs, and none is left when there are none', async () => {
  const gates = { a: new Gate(), b: new Gate(), c: new Gate() };
  const { runner, platform, sessionService } = await setUp(echo(gates));
  for (const name of ['a', 'b', 'c']) await sessionService.createSession({ ...KEY, sessionId: name });
  const runs = Object.keys(gates).map((name) => runner.run(saying(name, { sessionId: name })));
  await Promise.all(Object.values(gates).map((gate) => gate.reached));
  expect(platform.pendingTimers).toBe(1);
  platform.advance(10_000);
  await platform.drain();
  expect(sessionService.renewals).toBe(3);
  for (const gate of Object.values(gates)) gate.open();
  await Promise.all(runs);
  platform.advance(10_000);
  expect(platform.pendingTimers).toBe(0);
  expect(sessionService.renewals).toBe(3);
});

test('leases are renewed also when the runtime dropped the timer of an earlier request', async () => {
  const fixed = fixedPlatform();
  let isDropping = true;
  const platform: Platform = {
    ...fixed,
    schedule: (delayMs, callback) => (isDropping ? () => undefined : fixed.schedule(delayMs, callback)),
  };
  const gates = { b: new Gate() };
  const sessionService = new CountingService({ platform: fixed });
  const { runner } = await setUp(echo(gates), { platform, sessionService });
  await sessionService.createSession(KEY);
  await runner.run(saying('a'));
  isDropping = false;
  fixed.advance(60_000);
  const running = runner.run(saying('b'));
  await gates.b.reached;
  fixed.advance(10_000);
  await fixed.drain();
  expect(sessionService.renewals).toBe(1);
  gates.b.open();
  await running;
});

test('a timer that is only late is not doubled', async () => {
  const fixed = fixedPlatform();
  let lateMs = 0;
  const platform: Platform = { ...fixed, now: () => fixed.now() + lateMs };
  const { runner, sessionService } = await setUp(echo({}), { platform });
  await sessionService.createSession({ ...KEY, sessionId: 'other' });
  await runner.run(saying('a'));
  expect(fixed.pendingTimers).toBe(1);
  lateMs = 60_000;
  await runner.run(saying('b', { sessionId: 'other' }));
  expect(fixed.pendingTimers).toBe(1);
});

test('a session that is busy is not taken for one to be made', async () => {
  let asked = 0;
  class Asked extends CountingService {
    override async acquireLease(...args: Parameters<InMemorySessionService['acquireLease']>): Promise<SessionLease> {
      asked++;
      return super.acquireLease(...args);
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

test('a session is free again as soon as the lease time of a runner that died is over', async () => {
  const { runner, platform, sessionService } = await setUp(async function* () {}, { leaseTtlMs: 2000 });
  const other = new Runner({ appName: 'app', agent: runner.agent, sessionService, platform, leaseTtlMs: 2000 });
  await sessionService.acquireLease({ ...KEY, ttlMs: 2000 });
  const run = other.run(saying('hi', { runConfig: { onBusy: 'queue' } }));
  await platform.nextTimer();
  platform.advance(2000);
  await expect(run).resolves.toEqual([]);
});
