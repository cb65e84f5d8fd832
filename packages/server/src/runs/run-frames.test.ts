import { Gate } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { say, setUp, turn } from './fixtures/played-runs.ts';
import { FRAMES, type ReadFrame, readFrames } from './run-frames.ts';

/** Returns the position of a frame as a number of events, and the id of its event or the code of its error. */
function shorten(frame: ReadFrame | void): unknown {
  if (!frame) return frame;
  const { id, code } = JSON.parse(frame.json) as { readonly id?: string; readonly code?: string };
  return [frame.position && frame.position / 1e9, id ?? code];
}

async function allOf(frames: AsyncIterable<ReadFrame | undefined>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const frame of frames) all.push(shorten(frame));
  return all;
}

describe('the frames of a run, for code of the process', () => {
  test('are read as they come, with heartbeats between them', async () => {
    const { hub, play, platform } = setUp({ heartbeatMs: 1000 });
    const gate = new Gate();
    const frames = readFrames(hub.readers.read(play([say('one'), gate, say('two')]), undefined, FRAMES));
    const read = async () => shorten((await frames.next()).value);
    expect(await read()).toEqual([1, 'one']);
    const beat = read();
    await turn(platform);
    platform.advance(2000);
    expect(await beat).toBeUndefined();
    const second = read();
    gate.open();
    expect(await second).toEqual([2, 'two']);
    expect(await frames.next()).toEqual({ done: true, value: undefined });
  });

  test('are one list if the run has ended, and none if it has no events', async () => {
    const { hub, play } = setUp();
    const [run, empty] = [play([say('one'), say('two')]), play([])];
    await Promise.all([run.ended, empty.ended]);
    const read = (log: typeof run) => allOf(readFrames(hub.readers.read(log, undefined, FRAMES)));
    expect([await read(run), await read(empty)]).toEqual([
      [
        [1, 'one'],
        [2, 'two'],
      ],
      [],
    ]);
  });

  test('end with an error without a position if their reader takes none for too long', async () => {
    const { hub, play, platform } = setUp({ heartbeatMs: 1000 });
    const run = play([say('one'), new Gate()]);
    const frames = readFrames(hub.readers.read(run, undefined, FRAMES));
    platform.advance(2000);
    expect(await allOf(frames)).toEqual([[undefined, 'SLOW_READER']]);
    expect(run.readers.size).toBe(0);
  });

  test('include a large event in one piece, which counts for no user', async () => {
    const { hub, play, quotas } = setUp({ maxResponseChars: 10, maxResponseCharsPerUser: 10 });
    const large = say('x'.repeat(1024 * 1024));
    const frames = readFrames(hub.readers.read(play([large, new Gate()]), undefined, FRAMES));
    const { value } = await frames.next();
    expect([value && JSON.parse(value.json), quotas.total.responseChars]).toEqual([large, 0]);
    await frames.return();
  });

  test('end when the signal fires, and the run continues', async () => {
    const { hub, play } = setUp();
    const gate = new Gate();
    const run = play([gate, say('one')]);
    const controller = new AbortController();
    const frames = readFrames(hub.readers.read(run, undefined, FRAMES), controller.signal);
    const first = frames.next();
    await gate.reached;
    controller.abort();
    expect([await first, run.readers.size, run.end]).toEqual([{ done: true, value: undefined }, 0, undefined]);
    gate.open();
    await run.ended;
    expect(run.end).toEqual({ kind: 'completed' });
  });
});
