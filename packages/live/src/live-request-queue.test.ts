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

test('LiveRequestQueue yields requests in order and ends when it is closed', async () => {
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

test('peek leaves the request in the queue until shift removes it', async () => {
  const queue = new LiveRequestQueue();
  queue.sendActivityStart();
  queue.sendActivityEnd();
  expect(await queue.peek(NEVER)).toEqual({ activityStart: true });
  expect(await queue.peek(NEVER)).toEqual({ activityStart: true });
  queue.shift();
  expect(await queue.peek(NEVER)).toEqual({ activityEnd: true });
});

test('a waiting peek resolves on a send and on close', async () => {
  const queue = new LiveRequestQueue();
  const first = queue.peek(NEVER);
  queue.sendActivityStart();
  expect(await first).toEqual({ activityStart: true });
  queue.shift();
  const second = queue.peek(NEVER);
  queue.close();
  expect(await second).toBeUndefined();
});

test("an aborted peek rejects with the signal's reason, and the next peek gets the request", async () => {
  const queue = new LiveRequestQueue();
  const abort = new AbortController();
  const waiting = queue.peek(abort.signal);
  abort.abort(new ConfigurationError('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(queue.peek(abort.signal)).rejects.toThrow('enough');
  queue.sendActivityStart();
  expect(await queue.peek(NEVER)).toEqual({ activityStart: true });
});

test('a send that does not fit throws LiveQueueFullError, and ready resolves when there is space', async () => {
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

test('a request of half of maxChars fits when the queue is ready, and the error for a larger one advises smaller pieces', async () => {
  const queue = new LiveRequestQueue({ maxChars: 1000 });
  queue.sendRealtime(audio('A'.repeat(435)));
  await queue.ready();
  expect(() => queue.sendRealtime(audio('B'.repeat(700)))).toThrow(/smaller pieces/);
  queue.sendRealtime(audio('C'.repeat(436)));
  expect(() => queue.sendRealtime(audio('D'.repeat(10)))).toThrow(/; wait for ready/);
});

test('holdsWritten is true while contents or tool responses are queued', () => {
  const queue = new LiveRequestQueue();
  queue.sendRealtime(audio('AAAA'));
  queue.sendActivityEnd();
  expect(queue.holdsWritten).toBe(false);
  queue.sendToolResponse({ name: 'f', response: {} });
  expect(queue.holdsWritten).toBe(true);
  for (let count = 0; count < 3; count++) queue.shift();
  expect(queue.holdsWritten).toBe(false);
});

test('a long type of a blob counts as well as its data', () => {
  const queue = new LiveRequestQueue({ maxChars: 1000 });
  queue.sendRealtime({ mimeType: `audio/${'x'.repeat(800)}`, data: 'AAAA' });
  expect(() => queue.sendRealtime(audio('A'.repeat(200)))).toThrow(LiveQueueFullError);
});

test('a request larger than maxChars throws an error that says so', () => {
  const queue = new LiveRequestQueue({ maxChars: 100 });
  expect(() => queue.sendRealtime(audio('A'.repeat(200)))).toThrow(/smaller pieces/);
  expect(queue.chars).toBe(0);
});

test('a closed queue rejects sends, resolves ready, and can be closed again', async () => {
  const queue = new LiveRequestQueue({ maxChars: 200 });
  queue.sendRealtime(audio('A'.repeat(120)));
  const ready = queue.ready();
  queue.close();
  queue.close();
  await ready;
  expect(() => queue.sendActivityStart()).toThrow(InvalidMessageError);
  expect(await readAll(queue)).toHaveLength(1);
});

test('sends without parts, data or responses throw InvalidMessageError', () => {
  const queue = new LiveRequestQueue();
  expect(() => queue.sendContent({ role: 'user', parts: [] })).toThrow(InvalidMessageError);
  expect(() => queue.sendRealtime({ mimeType: 'audio/pcm' })).toThrow(InvalidMessageError);
  expect(() => queue.sendToolResponse()).toThrow(InvalidMessageError);
  expect(() => new LiveRequestQueue({ maxChars: 0 })).toThrow(ConfigurationError);
});

test('LiveRequestQueue keeps the order of many thousand requests', async () => {
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

test('sendLatest drops the oldest requests when the queue is full', async () => {
  const queue = new LiveRequestQueue({ maxChars: 500 });
  for (const piece of ['A', 'B', 'C', 'D']) queue.sendLatest(audio(piece.repeat(100)));
  queue.close();
  queue.sendLatest(audio('E'));
  const kept = (await readAll(queue)).map((request) => 'blob' in request && request.blob.data?.[0]);
  expect(kept).toEqual(['B', 'C', 'D']);
});
