import { ConfigurationError, createEvent, type Event } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { caller } from './fixtures/agent-tool-run.ts';
import { IDS, KEY, scenario, scripted, textOf } from './fixtures/scenario.ts';
import type { RunStream } from './run-stream.ts';

const WRITE =
  'write for await (const event of runner.runAsync({ … })), or for (const event of await runner.run({ … }))';

/** Reads a stream to its end, with its offset at each event. */
async function offsetsOf(stream: RunStream): Promise<[offset: number, event: Event][]> {
  expect(stream.offset).toBe(0);
  const seen: [number, Event][] = [];
  for await (const event of stream) seen.push([stream.offset, event]);
  return seen;
}

test('a stream counts stored events since the message, without chunks', async () => {
  const look = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
  const model = [{ calls: [{ name: 'look' }] }, { chunks: ['It is ', 'fine.'] }, 'Again.'];
  const { start, run } = await scenario({ model, agent: { tools: [look] } });
  const seen = await offsetsOf(start('hi', { runConfig: { streamingMode: 'sse' } }));
  expect(seen.map(([offset, event]) => [offset, event.partial === true])).toEqual([
    [0, true],
    [1, false],
    [2, false],
    [2, true],
    [2, true],
    [3, false],
  ]);
  await run('more');
  const { start: next } = await scenario({ model: ['One.'] });
  expect((await offsetsOf(next())).map(([offset]) => offset)).toEqual([1]);
});

test('a stream of a later run counts from its own message, including events that it does not yield', async () => {
  const { start, session, sessionService } = await scenario({ agent: caller(scripted('helper', ['Mine.'])) });
  const earlier = createEvent({ invocationId: 'e-0', author: 'user', content: { parts: [{ text: 'earlier' }] } });
  await sessionService.appendEvent({ session: await session(), event: earlier });
  const stream = start('second');
  const seen = await offsetsOf(stream);
  expect(seen.map(([offset]) => offset)).toEqual([1, 4, 5]);
  const stored = (await sessionService.getSession(KEY))?.events ?? [];
  const first = stored.findIndex(({ invocationId }) => invocationId === stream.invocationId);
  for (const [offset, { id }] of seen) expect(stored[first + offset]?.id).toBe(id);
  expect((await sessionService.findRun({ ...KEY, id: stream.invocationId }))?.firstSeq).toBe(first + 1);
});

test('an event forwarded from an AgentTool has the number of its record', async () => {
  const look = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
  const helper = scripted('helper', [{ calls: [{ name: 'look' }] }, { chunks: ['Mi', 'ne.'] }], { tools: [look] });
  const { start, stored } = await scenario({ agent: caller(helper, { streamInner: true }) });
  const seen = await offsetsOf(start('hi', { runConfig: { streamingMode: 'sse' } }));
  const events = await stored();
  const whole = seen.filter(([, event]) => event.partial !== true);
  expect(whole.map(([, { author }]) => author)).toContain('helper');
  for (const [offset, { id, author }] of whole) {
    const at = events[offset];
    expect(author === 'helper' ? at?.actions.agentState?.['streamed'] : at?.id).toBe(id);
  }
  for (const [index, [offset]] of seen.entries()) expect(offset).toBeGreaterThanOrEqual(seen[index - 1]?.[0] ?? 0);
  expect(seen.map(([, event]) => textOf(event))).toContain('Mi');
});

test('a loop without await is refused, and the error says what to write', async () => {
  const { start } = await scenario({ model: ['Hello'] });
  const stream: unknown = start();
  expect(() => [...(stream as Iterable<Event>)]).toThrow('write for await (const event of runner.runAsync({ … }))');
});

test.each(['map', 'filter', 'forEach', 'reduce', 'catch'])(
  'a stream that is used as a list with %s is refused, and the error says what to write',
  async (method) => {
    const { start } = await scenario({ model: ['Hello'] });
    const stream = start();
    expect(() => Reflect.apply(Reflect.get(stream, method), stream, [String])).toThrow(
      expect.objectContaining({ code: ConfigurationError.code, message: expect.stringContaining(WRITE) }),
    );
  },
);

test('a stream can be returned by an async function, because it has no then', async () => {
  const { start } = await scenario({ model: ['Hello'] });
  const seen: Event[] = [];
  for await (const event of await (async () => start())()) seen.push(event);
  expect(seen.map(textOf)).toEqual(['Hello']);
});

test.each([
  [
    'for await',
    async (events: unknown) => {
      for await (const event of events as AsyncIterable<Event>) expect.unreachable(event.id);
    },
  ],
  ['for', async (events: unknown) => [...(events as Iterable<Event>)]],
  ['map', async (events: unknown) => (events as Event[]).map(String)],
])('the promise of run is refused in %s, and the error says what to write', async (_, use) => {
  const { runner } = await scenario({ model: ['Hello'] });
  const events = runner.run({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } });
  await expect(use(events)).rejects.toThrow(WRITE);
  expect(events).toBeInstanceOf(Promise);
  expect((await events).map(textOf)).toEqual(['Hello']);
});
