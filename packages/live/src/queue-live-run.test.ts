import {
  BaseAgent,
  type BaseLiveRequestQueue,
  ConfigurationError,
  type Event,
  type InvocationContext,
} from '@eventloom/core';
import { expect, test } from 'vitest';
import { LiveRequestQueue } from './live-request-queue.ts';
import { QueueLiveRun } from './queue-live-run.ts';

async function dataIn(queue: BaseLiveRequestQueue): Promise<unknown[]> {
  queue.close();
  const data: unknown[] = [];
  for await (const request of queue) data.push('blob' in request ? request.blob.data : request);
  return data;
}

test("each tool with an input stream gets the client's media, and a slow tool misses the oldest", async () => {
  const run = new QueueLiveRun(new LiveRequestQueue({ maxChars: 3 * 65 }));
  const slow = run.openInput('slow');
  const quick = run.openInput('quick');
  const read: unknown[] = [];
  for (const data of ['a', 'b', 'c', 'd', 'e']) {
    run.copyToTools({ data, mimeType: 'audio/pcm' });
    const request = await quick.peek(new AbortController().signal);
    read.push(request && 'blob' in request && request.blob.data);
    quick.shift();
  }
  expect(await dataIn(slow)).toEqual(['c', 'd', 'e']);
  expect(read).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test("a tool's input stream is open from the start of its call until it ends", () => {
  const run = new QueueLiveRun(new LiveRequestQueue());
  expect(run.inputStream('c1')).toBeUndefined();
  const input = run.openInput('c1');
  expect(run.inputStream('c1')).toBe(input);
  run.closeInput('c1', input);
  expect(run.inputStream('c1')).toBeUndefined();
  expect(input.isClosed).toBe(true);
});

test('an agent without a model and without its own live implementation throws', () => {
  class Other extends BaseAgent {
    protected override runAsyncImpl(): AsyncGenerator<Event, void, void> {
      throw new Error('is not run');
    }
  }
  const run = new QueueLiveRun(new LiveRequestQueue());
  expect(() => run.runAgent(new Other({ name: 'other' }), {} as InvocationContext)).toThrow(ConfigurationError);
});
