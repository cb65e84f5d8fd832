/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import {
  AgentError,
  type AppendEventRequest,
  type BeginRunRequest,
  type BegunRun,
  CallbackContext,
  ConfigurationError,
  type Event,
  ModelError,
  RequestKnownError,
  SessionNotFoundError,
  StateValueError,
} from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Recording, throwing, twice } from './fixtures/failing-agents.ts';
import { expectFree, KEY, runToError, saying, scenario } from './fixtures/scenario.ts';

// Storage.

class FailingService extends InMemorySessionService {
  appends = 0;
  failsFrom = Infinity;
  failsEnd = false;

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    if (++this.appends >= this.failsFrom) throw new Error('disk full');
    return super.appendEvent(request);
  }

  override async beginRun(request: BeginRunRequest): Promise<BegunRun> {
    if (request.message && ++this.appends >= this.failsFrom) throw new Error('disk full');
    return super.beginRun(request);
  }

  override async endRun(...args: Parameters<InMemorySessionService['endRun']>): Promise<Event | undefined> {
    if (!this.failsEnd) return super.endRun(...args);
    this.failsFrom = 0;
    throw new Error('connection lost');
  }

  override async releaseLease(...args: Parameters<InMemorySessionService['releaseLease']>): Promise<void> {
    if (this.failsEnd) throw new Error('connection lost');
    return super.releaseLease(...args);
  }
}

/** The message of an error that is not Eventloom's own, whose text may contain secrets. */
const PUBLIC_MESSAGE = 'agent "bot" failed; the reason was reported to the program that runs it';

test('an error of the agent becomes one stored error event, and is then thrown', async () => {
  const cause = new TypeError('broken');
  const { runner, stored, start } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one');
      throw cause;
    },
  });
  const { events, error } = await runToError(start());
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ message: 'agent "bot" failed: broken', cause });
  expect(events).toHaveLength(2);
  expect(events[1]).toMatchObject({
    author: 'bot',
    object: 'error',
    errorCode: 'AGENT',
    errorMessage: PUBLIC_MESSAGE,
    error: { type: 'AGENT', message: PUBLIC_MESSAGE },
  });
  expect(events[1]).not.toHaveProperty('content');
  expect((await stored()).slice(1)).toEqual(events);
  await expectFree(runner);
});

test.each([
  ['an error of Eventloom is thrown as it is', new ConfigurationError('no model'), 'CONFIGURATION'],
  [
    'a model error has the code of its service',
    new ModelError('slow down', { errorCode: 'RESOURCE_EXHAUSTED' }),
    'RESOURCE_EXHAUSTED',
  ],
])('%s', async (_, thrown, errorCode) => {
  const { start } = await scenario({
    async *agent() {
      throw thrown;
    },
  });
  const { events, error } = await runToError(start());
  expect(error).toBe(thrown);
  expect(events).toMatchObject([{ errorCode, errorMessage: thrown.message }]);
});

test.each([
  ['a text', 'out of paper', 'out of paper'],
  ['nothing', undefined, 'undefined'],
  ['an error without a message', new RangeError(), 'RangeError'],
])('an agent may throw %s', async (_, thrown, message) => {
  const { start } = await scenario({
    async *agent() {
      // oxlint-disable-next-line typescript/only-throw-error -- user code may throw anything
      throw thrown;
    },
  });
  const { events, error } = await runToError(start());
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({
    message: `agent "bot" failed: ${message}`,
    ...(thrown === undefined ? {} : { cause: thrown }),
  });
  expect(events).toMatchObject([{ errorCode: 'AGENT', errorMessage: PUBLIC_MESSAGE }]);
});

test('uncommitted state changes are lost when the agent throws', async () => {
  const { state, start } = await scenario({
    async *agent(context) {
      new CallbackContext({ invocationContext: context }).state.set('lost', 1);
      yield modelEvent('bot', 'one', { actions: { stateDelta: { kept: 1 } } });
      throw new TypeError('broken');
    },
  });
  await runToError(start());
  expect(await state()).toEqual({ kept: 1 });
});

test('finally blocks of the agent have run before the error is thrown', async () => {
  let isCleaned = false;
  const { start } = await scenario({
    async *agent() {
      try {
        yield modelEvent('bot', 'one');
        throw new TypeError('broken');
      } finally {
        isCleaned = true;
      }
    },
  });
  await runToError(start());
  expect(isCleaned).toBe(true);
});

test('an agent whose event cannot be stored may await aborted work in its finally block', async () => {
  const { start } = await scenario({
    async *agent({ abortSignal }) {
      const stopped = new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
      try {
        yield modelEvent('bot', 'one', { actions: { stateDelta: { when: new Map() } } });
      } finally {
        await stopped;
      }
    },
  });
  const { events, error } = await runToError(start());
  expect(error).toBeInstanceOf(StateValueError);
  expect(events).toMatchObject([{ errorCode: 'STATE_VALUE' }]);
});

test('concurrent work of a failed run is aborted', async () => {
  let signal: AbortSignal | undefined;
  const { start } = await scenario({
    async *agent(context) {
      signal = context.abortSignal;
      yield modelEvent('bot', 'one');
      throw new TypeError('broken');
    },
  });
  await runToError(start());
  expect(signal?.aborted).toBe(true);
});

test('if the error event cannot be stored, the first error is thrown', async () => {
  const sessionService = new FailingService();
  sessionService.failsFrom = 3;
  const plugin = new Recording('recording');
  const { start } = await scenario({ agent: twice, sessionService, plugins: [plugin] });
  const { events, error } = await runToError(start('hi', { runConfig: { completionEvent: true } }));
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ message: 'agent "bot" failed: disk full' });
  expect(plugin.log).toEqual([error]);
  expect(events.map((event) => event.object)).toEqual([undefined]);
});

test('a message that cannot be stored throws a typed error', async () => {
  const sessionService = new FailingService();
  sessionService.failsFrom = 1;
  const { runner, start } = await scenario({ agent: twice, sessionService });
  const { events, error } = await runToError(start());
  expect(error).toBeInstanceOf(AgentError);
  expect(events).toEqual([]);
  await expectFree(runner);
});

test('a run whose end cannot be stored stays open, and its stream does not end as if the run had completed', async () => {
  const sessionService = new FailingService();
  sessionService.failsEnd = true;
  const { platform, start } = await scenario({ agent: twice, sessionService });
  const stream = start('hi', { runConfig: { completionEvent: true } });
  const { events, error } = await runToError(stream);
  expect(error).toMatchObject({ message: 'agent "bot" failed: connection lost' });
  expect(events.map(({ customMetadata }) => customMetadata?.['outcome'])).toEqual([undefined, undefined]);
  expect(stream.leavesRunOpen).toBe(true);
  await expect(platform.drain()).rejects.toThrow('disk full');
});

test('the run fails with RequestKnownError if its agent throws one', async () => {
  const known = new RequestKnownError('known', { invocationId: 'e-other' });
  const { start, stored } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one');
      throw known;
    },
  });
  const { error } = await runToError(start('hi', { requestId: 'r-1' }));
  expect(error).toBe(known);
  expect((await stored()).at(-1)?.errorCode).toBe('REQUEST_KNOWN');
});

test('a session deleted during its run fails the run', async () => {
  const { runner, start } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one');
      await runner.sessionService.deleteSession(KEY);
      yield modelEvent('bot', 'two');
    },
  });
  const { events, error } = await runToError(start());
  expect(error).toBeInstanceOf(SessionNotFoundError);
  expect(events).toHaveLength(1);
});

test('an event that cannot be stored fails the run, and the agent does not continue', async () => {
  const { stored, start } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one', { actions: { stateDelta: { when: new Map() } } });
      expect.unreachable();
    },
  });
  const { events, error } = await runToError(start());
  expect(error).toBeInstanceOf(StateValueError);
  expect(events).toMatchObject([{ errorCode: 'STATE_VALUE' }]);
  expect(await stored()).toHaveLength(2);
});

test('plugins are notified if the reader stops at the error event', async () => {
  const plugin = new Recording('recording');
  const { runner } = await scenario({ agent: throwing, plugins: [plugin] });
  for await (const event of runner.runAsync(saying('hi'))) if (event.errorCode !== undefined) break;
  expect(plugin.log).toEqual([expect.objectContaining({ code: 'AGENT' })]);
});

test('an agent stuck in its finally block holds the session for at most five seconds', async () => {
  const gate = new Gate();
  const { runner, platform } = await scenario({
    async *agent() {
      try {
        yield modelEvent('bot', 'one');
      } finally {
        await gate.pass();
      }
    },
  });
  const stream = runner.runAsync(saying('hi'));
  await stream.next();
  const left = stream.return(undefined);
  await gate.reached;
  platform.advance(5000);
  await left;
  await expectFree(runner);
});

test('a stream that is closed before its first event never starts', async () => {
  const { runner } = await scenario({ agent: throwing });
  const stream = runner.runAsync(saying('hi'));
  await stream.return(undefined);
  expect(await stream.whenBegun()).toBe(false);
});
