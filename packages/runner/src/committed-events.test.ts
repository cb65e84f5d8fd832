/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { createEvent, type Event, ObjectType } from '@eventloom/core';
import { modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { chunks, saying, setUp, textOf } from './fixtures/scripted-run.ts';

test('a run stores what the user said without yielding it, and stores and yields every event of the agent', async () => {
  const { runner, stored } = await setUp(async function* (context) {
    yield context.createEvent({ content: { role: 'model', parts: [{ text: 'one' }] } });
    yield context.createEvent({ content: { role: 'model', parts: [{ text: 'two' }] } });
  });
  const events = await runner.run(saying('hi'));
  expect(events.map(textOf)).toEqual(['one', 'two']);
  const session = await stored();
  expect(session.events.map((event) => [event.author, textOf(event)])).toEqual([
    ['user', 'hi'],
    ['bot', 'one'],
    ['bot', 'two'],
  ]);
  expect(session.events.slice(1)).toEqual(events);
});

test('the event of the user has the role, the ids and the time of the run', async () => {
  const { runner, stored, platform } = await setUp(async function* () {});
  platform.advance(1500);
  const stream = runner.runAsync(saying('hi'));
  expect(stream.invocationId).toMatch(/^e-[0-9a-f-]{36}$/);
  for await (const _ of stream) expect.unreachable();
  expect((await stored()).events).toEqual([
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

test('what the consumer sees is stored already', async () => {
  const { runner, stored } = await setUp(async function* () {
    yield modelEvent('bot', 'one', { actions: { stateDelta: { step: 1 } } });
    yield modelEvent('bot', 'two', { actions: { stateDelta: { step: 2 } } });
  });
  let seen = 0;
  for await (const event of runner.runAsync(saying('hi'))) {
    const session = await stored();
    expect(session.events.at(-1)).toEqual(event);
    expect(session.state['step']).toBe(++seen);
  }
  expect(seen).toBe(2);
});

test('after a yield the agent reads what was committed', async () => {
  const { runner } = await setUp(
    async function* (context) {
      yield modelEvent('bot', 'one', {
        actions: { stateDelta: { a: 1, 'user:b': 2, 'temp:c': 3 }, removedState: ['old'] },
      });
      expect(context.session.state).toEqual({ a: 1, 'user:b': 2, 'temp:c': 3 });
      expect(context.session.events.map(textOf)).toEqual(['hi', 'one']);
    },
    {},
    { old: true },
  );
  expect(await runner.run(saying('hi'))).toHaveLength(1);
});

test('the agent goes on only when the consumer asks for the next event', async () => {
  const steps: string[] = [];
  const { runner } = await setUp(async function* () {
    steps.push('one');
    yield modelEvent('bot', 'one');
    steps.push('two');
    yield modelEvent('bot', 'two');
  });
  const stream = runner.runAsync(saying('hi'));
  expect(steps).toEqual([]);
  await stream.next();
  expect(steps).toEqual(['one']);
  await stream.next();
  expect(steps).toEqual(['one', 'two']);
  await stream.return();
});

test('what an event leaves open is filled in; what it says of itself stays', async () => {
  const { runner, platform } = await setUp(async function* () {
    yield createEvent({ content: { parts: [{ text: 'bare' }] } });
    yield createEvent({ id: 'mine', invocationId: 'foreign', author: 'helper', timestamp: 5, executionId: 'x' });
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

test('chunks are forwarded when streaming, never stored, and their actions are ignored', async () => {
  const { runner, stored } = await setUp(chunks);
  const events = await runner.run({ ...saying('hi'), runConfig: { streamingMode: 'sse' } });
  expect(events.map((event) => [textOf(event), event.partial])).toEqual([
    ['He', true],
    ['llo', true],
    ['Hello', undefined],
  ]);
  expect(new Set(events.map((event) => event.id)).size).toBe(3);
  const session = await stored();
  expect(session.events.map(textOf)).toEqual(['hi', 'Hello']);
  expect(session.state).toEqual({});
});

test('without streaming only whole events are yielded', async () => {
  const { runner, stored } = await setUp(chunks);
  expect((await runner.run(saying('hi'))).map(textOf)).toEqual(['Hello']);
  expect((await stored()).events.map(textOf)).toEqual(['hi', 'Hello']);
});

test('announcements of a hand-over and node events are streamed and never stored', async () => {
  const { runner, stored } = await setUp(async function* () {
    yield modelEvent('bot', 'Transferring control', { object: ObjectType.agentTransfer });
    yield createEvent({
      author: 'node',
      nodeEvent: { eventType: 'x', category: 'progress', nodeId: 'node', progress: 5 },
    });
    yield modelEvent('bot', 'done');
  });
  expect(await runner.run(saying('hi'))).toHaveLength(3);
  expect((await stored()).events.map(textOf)).toEqual(['hi', 'done']);
});

test('endInvocation ends the run after the current event', async () => {
  let isClosed = false;
  const { runner, stored } = await setUp(async function* (context) {
    try {
      yield modelEvent('bot', 'one');
      context.endInvocation();
      yield modelEvent('bot', 'two');
      expect.unreachable();
    } finally {
      isClosed = true;
    }
  });
  expect((await runner.run(saying('hi'))).map(textOf)).toEqual(['one', 'two']);
  expect((await stored()).events).toHaveLength(3);
  expect(isClosed).toBe(true);
});

test('what an agent that ended the invocation throws in its finally block fails the run', async () => {
  const { runner } = await setUp(async function* (context) {
    try {
      context.endInvocation();
      yield modelEvent('bot', 'one');
    } finally {
      // oxlint-disable-next-line eslint/no-unsafe-finally -- user code may do so
      throw new RangeError('cleanup');
    }
  });
  await expect(runner.run(saying('hi'))).rejects.toMatchObject({ code: 'AGENT', message: 'cleanup' });
});

test('state given with the message is stored with it', async () => {
  const { runner, stored } = await setUp(async function* (context) {
    expect(context.session.state).toEqual({ a: 1, 'user:b': [2], 'temp:c': 3 });
  });
  await runner.run({ ...saying('hi'), stateDelta: { a: 1, 'user:b': [2], 'temp:c': 3 } });
  const session = await stored();
  expect(session.state).toEqual({ a: 1, 'user:b': [2] });
  expect(session.events[0]?.actions.stateDelta).toEqual({ a: 1, 'user:b': [2] });
});
