import { createEvent } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { NUMBERED_SSE_FRAMES, SSE_FRAMES, SseFormat } from '../http/run-response.ts';
import { keptOf, readAll, readerOf, readLog, readTexts, say, setUp, shorten } from './fixtures/played-runs.ts';

describe('writes to a reader', () => {
  test('are batched: one for the first event and one for all others of the same tick', async () => {
    const { hub, play, platform } = setUp();
    const [gate, end] = [new Gate(), new Gate()];
    const run = play([gate, say('one'), say('two'), say('three'), end]);
    const reader = readerOf(readLog(hub, run));
    const decoder = new TextDecoder();
    const first = reader.read();
    gate.open();
    expect(decoder.decode((await first).value)).toMatch(/^id: 1\ndata: \{.*\}\n\n$/);
    const second = reader.read();
    await end.reached;
    platform.advance(0);
    expect(decoder.decode((await second).value)).toMatch(/^id: 2\n.*\n\nid: 3\n.*\n\n$/);
  });

  test('are heartbeat comments while the run yields nothing', async () => {
    const { hub, play, platform } = setUp({ heartbeatMs: 15_000 });
    const end = new Gate();
    const run = play([say('one'), end]);
    const reader = readerOf(readLog(hub, run));
    await reader.read();
    const beat = reader.read();
    await end.reached;
    platform.advance(30_000);
    expect(new TextDecoder().decode((await beat).value)).toBe(': heartbeat\n\n');
  });

  test('use one timer for the heartbeats of all readers, until the last one leaves', async () => {
    const { hub, play, platform } = setUp({ heartbeatMs: 1000 });
    const runs = [play([say('one'), new Gate()]), play([say('two'), new Gate()])];
    const before = platform.pendingTimers;
    const readers = runs.flatMap((run) => [readerOf(readLog(hub, run)), readerOf(readLog(hub, run))]);
    await Promise.all(readers.map((reader) => reader.read()));
    platform.advance(0);
    expect(platform.pendingTimers).toBe(before + 1);
    platform.advance(1000);
    expect(platform.pendingTimers).toBe(before + 1);
    await Promise.all(readers.map((reader) => reader.cancel()));
    expect(platform.pendingTimers).toBe(before);
  });

  test('end with an error frame if the client does not read', async () => {
    const { hub, play, platform } = setUp({ heartbeatMs: 1000 });
    const run = play([say('one'), new Gate()]);
    const stream = readLog(hub, run);
    platform.advance(2000);
    const [received = ''] = await readTexts(stream);
    expect(shorten(received)).toBe('- SLOW_READER');
    expect(received).toContain('the client read nothing for too long and was disconnected');
    expect(run.readers.size).toBe(0);
    expect(() => platform.advance(10_000)).not.toThrow();
  });

  test('end with a closed connection if the client does not read the error frame', async () => {
    const { hub, play, platform } = setUp({ heartbeatMs: 1000 });
    const stream = readLog(hub, play([say('one'), new Gate()]));
    platform.advance(3000);
    await expect(readTexts(stream)).rejects.toThrow('read nothing');
  });
});

describe('a large event', () => {
  const MEBI = 1024 * 1024;
  const eventOf = (text: string) => createEvent({ id: 'e', timestamp: 0, author: 'a', content: { parts: [{ text }] } });
  const limits = { maxResponseCharsPerUser: 4 * MEBI, maxResponseChars: 8 * MEBI, heartbeatMs: 1000 };
  const decoder = new TextDecoder();

  test('is written in parts that do not split characters, as the client reads', async () => {
    const { hub, play, quotas } = setUp(limits);
    const event = eventOf(`x${'😀'.repeat(MEBI)}`);
    const run = play([event, say('end')]);
    await run.ended;
    const reader = readerOf(readLog(hub, run));
    let text = '';
    const counts = new Set<number>();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      expect(next.value.length).toBeLessThanOrEqual(4 * 64 * 1024);
      text += decoder.decode(next.value);
      counts.add(quotas.total.responseChars);
    }
    expect(text).toBe(`id: 1\ndata: ${JSON.stringify(event)}\n\nid: 2\ndata: ${JSON.stringify(say('end'))}\n\n`);
    expect(counts.size).toBe(2);
    expect(quotas.total.responseChars).toBe(0);
  });

  test('is kept by as many readers as there is room for, and the others can follow the run again', async () => {
    const { hub, play, platform, quotas } = setUp(limits);
    const run = play([eventOf('x'.repeat(1.5 * MEBI))]);
    await run.ended;
    const readFirst = async (): Promise<string> => {
      const reader = readerOf(readLog(hub, run));
      return decoder.decode((await reader.read()).value);
    };
    const firsts: string[] = [];
    for (let each = 0; each < 50; each++) firsts.push(await readFirst());
    const kept = firsts.filter((text) => text.startsWith('id: 1\n'));
    expect(kept.map(({ length }) => length)).toEqual([64 * 1024, 64 * 1024]);
    expect(firsts.slice(2).map(shorten)).toEqual(firsts.slice(2).map(() => '- SLOW_READER'));
    expect(quotas.total.responseChars).toBeLessThanOrEqual(limits.maxResponseCharsPerUser);
    // The two clients read nothing more.
    platform.advance(2000);
    platform.advance(2000);
    await Promise.resolve();
    expect([quotas.total.responseChars, run.readers.size]).toEqual([0, 0]);
    expect(await readFirst()).toHaveLength(64 * 1024);
  });

  test('is cut, and not followed by an error, if the client stops reading in the middle', async () => {
    const { hub, play, platform } = setUp(limits);
    const run = play([eventOf('x'.repeat(MEBI)), new Gate()]);
    await run.firstFrame;
    const reader = readerOf(readLog(hub, run));
    await reader.read();
    hub.readers.askToReconnect();
    platform.advance(4000);
    await expect(reader.read()).rejects.toThrow('read nothing for too long');
  });

  test('comes before what is written while the client reads it', async () => {
    const { hub, play } = setUp(limits);
    const gate = new Gate();
    const run = play([eventOf('x'.repeat(MEBI)), gate, say('end')]);
    await run.firstFrame;
    const reader = readerOf(readLog(hub, run));
    let text = decoder.decode((await reader.read()).value);
    hub.readers.askToReconnect();
    gate.open();
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += decoder.decode(next.value);
    const begins = text.split('\n\n').map((frame) => frame.slice(0, 11));
    expect(begins).toEqual(['id: 1\ndata:', 'retry: 2000', 'id: 2\ndata:', '']);
  });
});

describe('a format whose writer throws', () => {
  const broken = (from: number): SseFormat =>
    new SseFormat({
      encode(json, position = 0) {
        if (position >= from * 1e9) throw new TypeError('the writer is broken');
        return `data: ${json}\n\n`;
      },
    });

  test.each([
    ['at its first event', 1],
    ['at a later event', 2],
  ])('%s cuts its own connection, and the run and its other readers continue', async (_when, from) => {
    const { hub, play, platform, reported } = setUp();
    const [gate, end] = [new Gate(), new Gate()];
    const run = play([gate, say('one'), end, say('two'), say('three')]);
    const cut = readTexts(hub.readers.read(run, undefined, broken(from)));
    const whole = readAll(readLog(hub, run));
    gate.open();
    await end.reached;
    platform.advance(0);
    end.open();
    await expect(cut).rejects.toThrow('the server failed to answer');
    expect(await whole).toEqual(['1 one', '2 two', '3 three']);
    await run.ended;
    expect([run.end?.failure, run.readers.size, hub.inFlight]).toEqual([undefined, 0, 0]);
    expect(reported).toEqual([new TypeError('the writer is broken')]);
    expect(() => platform.advance(60_000)).not.toThrow();
  });

  test('at the reason for an early end cuts the connection', async () => {
    const { hub, play, platform, reported } = setUp({ heartbeatMs: 1000 });
    const run = play([say('one'), new Gate()]);
    const stream = hub.readers.read(run, undefined, broken(0));
    platform.advance(2000);
    await expect(readTexts(stream)).rejects.toThrow('the server failed to answer');
    expect([run.readers.size, reported.length]).toEqual([0, 1]);
  });

  test('at a stored event cuts the connection', async () => {
    const { hub, play, reported } = setUp();
    const run = play([say('two'), new Gate()]);
    async function* pages() {
      yield [{ position: 1e9, json: JSON.stringify(say('one')) }];
    }
    const stream = hub.readers.read(run, 0, broken(0), { pages: pages(), untilPosition: 1e9 });
    await expect(readTexts(stream)).rejects.toThrow('the server failed to answer');
    expect([run.readers.size, reported.length]).toEqual([0, 1]);
  });
});

describe('a format that omits frames', () => {
  test('gets the frames after a page that it omits completely', async () => {
    const { hub, play } = setUp();
    const run = play([say('one'), say('two')]);
    await run.ended;
    async function* pages() {
      yield [{ position: 1e9, json: JSON.stringify(say('one')) }];
      yield [{ position: 2e9, json: JSON.stringify(say('two')) }];
    }
    const format = new SseFormat({ encode: (json, position) => (position === 1e9 ? '' : `data: ${json}\n\n`) });
    const stream = hub.readers.read(run, 0, format, { pages: pages(), untilPosition: 2e9 });
    expect(await readAll(stream)).toEqual(['- two']);
  });
});

describe('a cancelled connection', () => {
  test('gets nothing from a pending write', async () => {
    const { hub, play, platform } = setUp();
    const [gate, end] = [new Gate(), new Gate()];
    const run = play([say('one'), gate, say('two'), end]);
    const reader = readerOf(readLog(hub, run));
    await reader.read();
    const next = reader.read();
    gate.open();
    await end.reached;
    await reader.cancel();
    platform.advance(0);
    expect(await next).toEqual({ done: true, value: undefined });
    expect(run.readers.size).toBe(0);
  });

  test('gets no heartbeat, no drain frame and no end', async () => {
    const { hub, play, platform } = setUp({ heartbeatMs: 1000 });
    const end = new Gate();
    const run = play([end]);
    const reader = readerOf(readLog(hub, run));
    const [follower] = run.readers;
    const beat = reader.read();
    await end.reached;
    follower?.probe();
    await beat;
    const next = reader.read();
    await reader.cancel();
    platform.advance(5000);
    const drained = hub.drain(1000);
    follower?.askToReconnect();
    end.open();
    await drained;
    expect(await next).toEqual({ done: true, value: undefined });
  });
});

describe('a reader that starts with stored events', () => {
  const frame = (position: number, text: string) => ({ position: position * 1e9, json: JSON.stringify(say(text)) });

  test('continues with the frames of the log', async () => {
    const { hub, play } = setUp();
    const run = play([say('four'), say('five')], { beginOffset: 3 });
    async function* pages() {
      yield [frame(1, 'one'), frame(2, 'two')];
      yield [frame(3, 'three')];
    }
    expect(
      await readAll(hub.readers.read(run, 0, NUMBERED_SSE_FRAMES, { pages: pages(), untilPosition: 4e9 })),
    ).toEqual(['1 one', '2 two', '3 three', '5 five']);
  });

  test('ends with a reported error if they cannot be read, and the run continues', async () => {
    const { hub, play, reported } = setUp();
    const [gate, end] = [new Gate(), new Gate()];
    const run = play([gate, say('two'), end]);
    async function* pages() {
      yield [frame(1, 'one')];
      throw new TypeError('the storage failed');
    }
    const received = await readAll(
      hub.readers.read(run, 0, NUMBERED_SSE_FRAMES, { pages: pages(), untilPosition: 1e9 }),
    );
    expect(received).toEqual(['1 one', '- INTERNAL']);
    expect(reported).toEqual([new TypeError('the storage failed')]);
    expect(run.readers.size).toBe(0);
    gate.open();
    end.open();
    await run.ended;
    expect(run.end?.failure).toBeUndefined();
  });
});

describe('an event larger than the memory limit', () => {
  const huge = say('y'.repeat(1000), true);

  test('reaches active readers, even with a small event directly after it', async () => {
    const { hub, play } = setUp({ maxRunChars: 300 });
    const run = play([say('one'), huge, say('two')]);
    const stream = readLog(hub, run);
    await run.ended;
    expect((await readAll(stream)).map((frame) => frame.split(' ')[1]?.slice(0, 3))).toEqual(['one', 'yyy', 'two']);
  });

  test('is kept without smaller earlier events', async () => {
    const { play } = setUp({ maxRunChars: 300 });
    const run = play([huge, say('two'), huge, say('four')]);
    await run.ended;
    expect(keptOf(run).map((text) => text.split(' ')[1]?.slice(0, 4))).toEqual(['two', 'yyyy', 'four']);
  });
});

describe('a reader that falls behind the kept frames', () => {
  test('of a completed run does not get RUN_GOES_ON', async () => {
    const { hub, play } = setUp({ maxRunChars: 300 });
    const run = play([say('one'), say('two'), say('three'), say('four')]);
    const stream = readLog(hub, run);
    await run.ended;
    const [received = ''] = await readTexts(stream);
    expect([shorten(received), received.includes('continues')]).toEqual(['- SLOW_READER', false]);
  });

  test('is disconnected with a reason, and the run continues', async () => {
    const { hub, play } = setUp({ maxRunChars: 300 });
    const gate = new Gate();
    const run = play([say('one'), say('two'), say('three'), say('four'), gate, say('five')]);
    const stream = readLog(hub, run);
    await gate.reached;
    expect(run.gonePosition).toBeGreaterThan(0);
    const [received = ''] = await readTexts(stream);
    expect(shorten(received)).toBe('- SLOW_READER');
    expect(received).toContain('follow the run again');
    gate.open();
    await run.ended;
    expect(keptOf(run).at(-1)).toBe('5 five');
  });
});

describe('an event with an error', () => {
  const event = { author: 'bot', errorCode: 'SAFETY', errorMessage: 'no', error: { type: 'SAFETY', message: 'no' } };
  const json = JSON.stringify(event);

  test('keeps its code and message in a plain frame, without the member error, at which ADK clients would end', () => {
    const { error: _, ...plain } = event;
    expect(SSE_FRAMES.whole([{ position: 1, json }])).toBe(`data: ${JSON.stringify(plain)}\n\n`);
  });

  test('is whole in a numbered frame', () => {
    expect(NUMBERED_SSE_FRAMES.whole([{ position: 65_536, json }])).toMatch(
      /^id: .*\ndata: \{.*"error":\{"type":"SAFETY"/,
    );
  });

  test('keeps a text that looks like an error, and the last frame of a run that failed', () => {
    const said = JSON.stringify({ content: { parts: [{ text: '"error":{' }] }, state: { error: { type: 'x' } } });
    const failed = JSON.stringify({ error: 'failed', code: 'MODEL' });
    for (const frame of [said, failed])
      expect(SSE_FRAMES.whole([{ position: 1, json: frame }])).toBe(`data: ${frame}\n\n`);
  });
});
