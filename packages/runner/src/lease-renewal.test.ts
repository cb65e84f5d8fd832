import { SessionBusyError, StaleWriterError } from '@eventloom/core';
import { type FixedPlatform, fixedPlatform, Gate, modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import { CountingService, echo, KEY, saying, setUp } from './fixtures/leased-run.ts';

// Keeping the lease.

test('a lease is renewed while the agent yields nothing', async () => {
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

test('an append renews the lease, which is then not renewed separately', async () => {
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

test('an event with its own timestamp does not affect lease renewal', async () => {
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

test('a run whose renewal finds the lease lost ends with StaleWriterError', async () => {
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

test('a renewal that fails for another reason is reported and repeated', async () => {
  const a = new Gate();
  const { runner, platform, sessionService } = await setUp(echo({ a }));
  const running = runner.run(saying('a'));
  await a.reached;
  sessionService.failure = new RangeError('connection lost');
  platform.advance(10_000);
  await expect(platform.drain()).rejects.toThrow(
    /^the lease of session "s" of user "u" for the run e-.* was not renewed, and another process may take the session: connection lost$/,
  );
  sessionService.failure = undefined;
  platform.advance(10_000);
  await platform.drain();
  expect(sessionService.renewals).toBe(2);
  a.open();
  expect(await running).toHaveLength(2);
});

test('one timer serves all runs, and none is left without runs', async () => {
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

test("leases are renewed even if the runtime dropped an earlier request's timer", async () => {
  const fixed = fixedPlatform();
  let isDropping = true;
  const platform: FixedPlatform = {
    ...fixed,
    schedule: (delayMs, callback) => (isDropping ? () => undefined : fixed.schedule(delayMs, callback)),
  };
  const gates = { b: new Gate() };
  const sessionService = new CountingService({ platform: fixed });
  const { runner } = await setUp(echo(gates), { platform, sessionService });
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

test('a late timer is not scheduled twice', async () => {
  const fixed = fixedPlatform();
  let lateMs = 0;
  const platform: FixedPlatform = { ...fixed, now: () => fixed.now() + lateMs };
  const { runner, sessionService } = await setUp(echo({}), { platform });
  await sessionService.createSession({ ...KEY, sessionId: 'other' });
  await runner.run(saying('a'));
  expect(fixed.pendingTimers).toBe(1);
  lateMs = 60_000;
  await runner.run(saying('b', { sessionId: 'other' }));
  expect(fixed.pendingTimers).toBe(1);
});

test('a session of a dead runner is free after its lease time', async () => {
  const { runner, platform, sessionService } = await setUp(async function* () {}, { leaseTtlMs: 2000 });
  const other = new Runner({ appName: 'app', agent: runner.agent, sessionService, platform, leaseTtlMs: 2000 });
  await sessionService.acquireLease({ ...KEY, ttlMs: 2000 });
  const run = other.run(saying('hi', { runConfig: { onBusy: 'queue' } }));
  await platform.nextTimer();
  platform.advance(2000);
  await expect(run).resolves.toEqual([]);
});
