import { ConfigurationError, InvalidMessageError, LiveQueueFullError, type LiveRequest } from '@eventloom/core';
import { expect, test } from 'vitest';
import { LiveRequestQueue } from './live-request-queue.ts';

const NEVER = new AbortController().signal;
const audio = (data: string) => ({ data, mimeType: 'audio/pcm;rate=16000' });

async function readAll(queue: LiveRequestQueue): Promise<LiveRequest[]> {
  const read: LiveRequest[] = [];
  for (let request = await queue.peek(NEVER); request; request = await queue.peek(NEVER)) {
    read.push(request);
    queue.shift();
  }
  return read;
}

test('gives what was sent, in order, and ends when it is closed', async () => {
  const queue = new LiveRequestQueue();
  queue.sendActivityStart();
  queue.sendRealtime(audio('AAAA'));
  queue.sendContent({ role: 'user', parts: [{ text: 'hi' }] });
  queue.sendToolResponse({ id: 'c', name: 'f', response: {} });
  queue.sendActivityEnd();
  queue.close();
  expect(await readAll(queue)).toEqual([
    { activityStart: true },
    { blob: audio('AAAA') },
    { content: { role: 'user', parts: [{ text: 'hi' }] } },
    { toolResponses: [{ id: 'c', name: 'f', response: {} }] },
    { activityEnd: true },
  ]);
});

test('a request stays in the queue until it is taken out', async () => {
  const queue = new LiveRequestQueue();
  queue.sendActivityStart();
  queue.sendActivityEnd();
  expect(await queue.peek(NEVER)).toEqual({ activityStart: true });
  expect(await queue.peek(NEVER)).toEqual({ activityStart: true });
  queue.shift();
  expect(await queue.peek(NEVER)).toEqual({ activityEnd: true });
});

test('a reader that waits is woken by a send and by the close', async () => {
  const queue = new LiveRequestQueue();
  const first = queue.peek(NEVER);
  queue.sendActivityStart();
  expect(await first).toEqual({ activityStart: true });
  queue.shift();
  const second = queue.peek(NEVER);
  queue.close();
  expect(await second).toBeUndefined();
});

test('a reader that gives up throws its reason, and the next one reads on', async () => {
  const queue = new LiveRequestQueue();
  const abort = new AbortController();
  const waiting = queue.peek(abort.signal);
  abort.abort(new ConfigurationError('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(queue.peek(abort.signal)).rejects.toThrow('enough');
  queue.sendActivityStart();
  expect(await queue.peek(NEVER)).toEqual({ activityStart: true });
});

test('a send that does not fit throws and is not taken, and ready says when one is', async () => {
  const queue = new LiveRequestQueue({ maxChars: 1000 });
  queue.sendRealtime(audio('A'.repeat(400)));
  queue.sendRealtime(audio('B'.repeat(400)));
  expect(() => queue.sendRealtime(audio('C'.repeat(400)))).toThrow(LiveQueueFullError);
  let isReady = false;
  const ready = queue.ready().then(() => (isReady = true));
  await Promise.resolve();
  expect(isReady).toBe(false);
  queue.shift();
  await ready;
  queue.sendRealtime(audio('C'.repeat(400)));
  queue.close();
  expect((await readAll(queue)).map((request) => 'blob' in request && request.blob.data?.[0])).toEqual(['B', 'C']);
});

test('half of the bound fits when the queue is ready, and more than that is told to come in pieces', async () => {
  const queue = new LiveRequestQueue({ maxChars: 1000 });
  queue.sendRealtime(audio('A'.repeat(435)));
  await queue.ready();
  expect(() => queue.sendRealtime(audio('B'.repeat(700)))).toThrow(/smaller pieces/);
  queue.sendRealtime(audio('C'.repeat(436)));
  expect(() => queue.sendRealtime(audio('D'.repeat(10)))).toThrow(/: wait for ready/);
});

test('tells what was written from what is live, as long as it waits', () => {
  const queue = new LiveRequestQueue();
  queue.sendRealtime(audio('AAAA'));
  queue.sendActivityEnd();
  expect(queue.holdsWritten).toBe(false);
  queue.sendToolResponse({ name: 'f', response: {} });
  expect(queue.holdsWritten).toBe(true);
  for (let count = 0; count < 3; count++) queue.shift();
  expect(queue.holdsWritten).toBe(false);
});

test('what could never fit is refused in words of its own', () => {
  const queue = new LiveRequestQueue({ maxChars: 100 });
  expect(() => queue.sendRealtime(audio('A'.repeat(200)))).toThrow(/smaller pieces/);
  expect(queue.chars).toBe(0);
});

test('a closed queue takes nothing more, lets producers go, and is closed twice without harm', async () => {
  const queue = new LiveRequestQueue({ maxChars: 200 });
  queue.sendRealtime(audio('A'.repeat(120)));
  const ready = queue.ready();
  queue.close();
  queue.close();
  await ready;
  expect(() => queue.sendActivityStart()).toThrow(InvalidMessageError);
  expect(await readAll(queue)).toHaveLength(1);
});

test('what says nothing is refused', () => {
  const queue = new LiveRequestQueue();
  expect(() => queue.sendContent({ role: 'user', parts: [] })).toThrow(InvalidMessageError);
  expect(() => queue.sendRealtime({ mimeType: 'audio/pcm' })).toThrow(InvalidMessageError);
  expect(() => queue.sendToolResponse()).toThrow(InvalidMessageError);
  expect(() => new LiveRequestQueue({ maxChars: 0 })).toThrow(ConfigurationError);
});

test('many thousand requests pass in order through a queue that is never empty', async () => {
  const queue = new LiveRequestQueue();
  const seen: string[] = [];
  for (let index = 0; index < 10_000; index++) {
    queue.sendRealtime(audio(String(index)));
    if (index < 10) continue;
    const request = await queue.peek(NEVER);
    if (request && 'blob' in request) seen.push(request.blob.data ?? '');
    queue.shift();
  }
  expect(seen).toEqual(Array.from({ length: 9990 }, (_, index) => String(index)));
  expect(queue.chars).toBe(10 * (64 + 4));
});

test('what is latest takes the place of what is oldest where there is no room', async () => {
  const queue = new LiveRequestQueue({ maxChars: 500 });
  for (const piece of ['A', 'B', 'C', 'D']) queue.sendLatest(audio(piece.repeat(100)));
  queue.close();
  queue.sendLatest(audio('E'));
  const kept = (await readAll(queue)).map((request) => 'blob' in request && request.blob.data?.[0]);
  expect(kept).toEqual(['B', 'C', 'D']);
});
