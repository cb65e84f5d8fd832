/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { BasePlugin, createEvent, type Event, ObjectType } from '@eventloom/core';
import { modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { chunks } from './fixtures/custom-agent.ts';
import { saying, scenario, textOf } from './fixtures/scenario.ts';

test("a run stores the user's message without yielding it, and stores and yields every agent event", async () => {
  const { session, run } = await scenario({
    async *agent(context) {
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'one' }] } });
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'two' }] } });
    },
  });
  const events = await run();
  expect(events.map(textOf)).toEqual(['one', 'two']);
  const after = await session();
  expect(after.events.map((event) => [event.author, textOf(event)])).toEqual([
    ['user', 'hi'],
    ['bot', 'one'],
    ['bot', 'two'],
  ]);
  expect(after.events.slice(1)).toEqual(events);
});

test('the user event has the role, ids and time of the run', async () => {
  const { runner, platform, stored } = await scenario({ async *agent() {} });
  platform.advance(1500);
  const stream = runner.runAsync(saying('hi'));
  expect(stream.invocationId).toMatch(/^e-[0-9a-f-]{36}$/);
  for await (const _ of stream) expect.unreachable();
  expect(await stored()).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      invocationId: stream.invocationId,
      executionId: stream.invocationId,
      author: 'user',
      timestamp: Date.UTC(2026, 0, 1, 0, 0, 1, 500) / 1000,
      content: { role: 'user', parts: [{ text: 'hi' }] },
      actions: { stateDelta: {}, artifactDelta: {} },
    },
  ]);
});

test('a yielded event is already stored', async () => {
  const { runner, session } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one', { actions: { stateDelta: { step: 1 } } });
      yield modelEvent('bot', 'two', { actions: { stateDelta: { step: 2 } } });
    },
  });
  let seen = 0;
  for await (const event of runner.runAsync(saying('hi'))) {
    const after = await session();
    expect(after.events.at(-1)).toEqual(event);
    expect(after.state['step']).toBe(++seen);
  }
  expect(seen).toBe(2);
});

test('after a yield the agent reads the committed state', async () => {
  const { run } = await scenario({
    async *agent(context) {
      yield modelEvent('bot', 'one', {
        actions: { stateDelta: { a: 1, 'user:b': 2, 'temp:c': 3 }, removedState: ['old'] },
      });
      expect(context.session.state).toEqual({ a: 1, 'user:b': 2, 'temp:c': 3 });
      expect(context.session.events.map(textOf)).toEqual(['hi', 'one']);
    },
    state: { old: true },
  });
  expect(await run()).toHaveLength(1);
});

test('the agent continues only when the reader asks for the next event', async () => {
  const steps: string[] = [];
  const { runner } = await scenario({
    async *agent() {
      steps.push('one');
      yield modelEvent('bot', 'one');
      steps.push('two');
      yield modelEvent('bot', 'two');
    },
  });
  const stream = runner.runAsync(saying('hi'));
  expect(steps).toEqual([]);
  await stream.next();
  expect(steps).toEqual(['one']);
  await stream.next();
  expect(steps).toEqual(['one', 'two']);
  await stream.return();
});

test('missing fields of an event are filled in, and given ones stay', async () => {
  const { runner, platform } = await scenario({
    async *agent() {
      yield { ...createEvent({ content: { parts: [{ text: 'bare' }] } }), id: '', timestamp: 0 };
      yield createEvent({ id: 'mine', invocationId: 'foreign', author: 'helper', timestamp: 5, executionId: 'x' });
    },
  });
  const stream = runner.runAsync(saying('hi'));
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  expect(events[0]).toMatchObject({
    id: expect.stringMatching(/^.{36}$/) as string,
    invocationId: stream.invocationId,
    executionId: stream.invocationId,
    author: 'bot',
    timestamp: platform.now() / 1000,
  });
  expect(events[1]).toMatchObject({
    id: 'mine',
    invocationId: stream.invocationId,
    author: 'helper',
    timestamp: 5,
    executionId: 'x',
  });
});

test('an event of an own agent or a plugin has the kind and the error that follow from its fields', async () => {
  const answered = [{ functionResponse: { id: 'c', name: 'f', response: {} } }];
  const plugin = new (class extends BasePlugin {
    override onEventCallback({ event }: { event: Event }): Event | undefined {
      return textOf(event) === 'late' ? { ...event, errorCode: 'LATE', errorMessage: 'too late' } : undefined;
    }
  })('late');
  const { run, stored } = await scenario({
    plugins: [plugin],
    async *agent(context) {
      yield { errorCode: 'NONE', errorMessage: 'no answer' } as Event;
      yield { ...modelEvent('bot', 'odd'), errorCode: 'ODD' };
      yield { content: { role: 'user', parts: answered } } as Event;
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'late' }] } });
    },
  });
  const events = await run();
  expect(events.map(({ object, error }) => ({ object, error }))).toEqual([
    { object: 'error', error: { type: 'NONE', message: 'no answer' } },
    { object: 'error', error: { type: 'ODD', message: '' } },
    { object: 'tool.response', error: undefined },
    { object: 'error', error: { type: 'LATE', message: 'too late' } },
  ]);
  expect((await stored()).slice(1)).toEqual(events);
});

test('an event object that is yielded in every turn is stored as a separate event each time', async () => {
  const greeting = createEvent({ content: { role: 'model', parts: [{ text: 'Hello.' }] } });
  const { run, stored } = await scenario({
    async *agent() {
      yield greeting;
    },
  });
  await run('one');
  await run('two');
  expect((await stored()).map(textOf)).toEqual(['one', 'Hello.', 'two', 'Hello.']);
});

test('chunks are yielded when streaming, never stored, and their actions are ignored', async () => {
  const { session, run } = await scenario({ agent: chunks });
  const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
  expect(events.map((event) => [textOf(event), event.partial])).toEqual([
    ['He', true],
    ['llo', true],
    ['Hello', undefined],
  ]);
  expect(new Set(events.map((event) => event.id)).size).toBe(3);
  const after = await session();
  expect(after.events.map(textOf)).toEqual(['hi', 'Hello']);
  expect(after.state).toEqual({});
});

test('without streaming only whole events are yielded', async () => {
  const { stored, run } = await scenario({ agent: chunks });
  expect((await run()).map(textOf)).toEqual(['Hello']);
  expect((await stored()).map(textOf)).toEqual(['hi', 'Hello']);
});

test('transfer announcements and node events are yielded and never stored', async () => {
  const { stored, run } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'Transferring control', { object: ObjectType.agentTransfer });
      yield createEvent({
        author: 'node',
        nodeEvent: { eventType: 'x', category: 'progress', nodeId: 'node', progress: 5 },
      });
      yield modelEvent('bot', 'done');
    },
  });
  expect(await run()).toHaveLength(3);
  expect((await stored()).map(textOf)).toEqual(['hi', 'done']);
});

test('endInvocation ends the run after the current event', async () => {
  let isClosed = false;
  const { stored, run } = await scenario({
    async *agent(context) {
      try {
        yield modelEvent('bot', 'one');
        context.endInvocation = true;
        yield modelEvent('bot', 'two');
        expect.unreachable();
      } finally {
        isClosed = true;
      }
    },
  });
  expect((await run()).map(textOf)).toEqual(['one', 'two']);
  expect(await stored()).toHaveLength(3);
  expect(isClosed).toBe(true);
});

test('an error thrown in a finally block after endInvocation fails the run', async () => {
  const { run } = await scenario({
    async *agent(context) {
      try {
        context.endInvocation = true;
        yield modelEvent('bot', 'one');
      } finally {
        // oxlint-disable-next-line eslint/no-unsafe-finally -- user code may do so
        throw new RangeError('cleanup');
      }
    },
  });
  await expect(run()).rejects.toMatchObject({ code: 'AGENT', message: 'agent "bot" failed: cleanup' });
});

test('stateDelta is stored with the message', async () => {
  const { session, run } = await scenario({
    async *agent(context) {
      expect(context.session.state).toEqual({ a: 1, 'user:b': [2], 'temp:c': 3 });
    },
  });
  await run('hi', { stateDelta: { a: 1, 'user:b': [2], 'temp:c': 3 } });
  const after = await session();
  expect(after.state).toEqual({ a: 1, 'user:b': [2] });
  expect(after.events[0]?.actions.stateDelta).toEqual({ a: 1, 'user:b': [2] });
});
