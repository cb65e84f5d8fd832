import { expect, test } from 'vitest';
import { copyInput } from './copy-input.ts';
import { LiveRequestQueue } from './live-request-queue.ts';

async function heardBy(queue: LiveRequestQueue): Promise<unknown[]> {
  queue.close();
  const heard: unknown[] = [];
  for await (const request of queue) heard.push('blob' in request ? request.blob.data : request);
  return heard;
}

test('each tool that listens hears what is said, and one that is slow misses the oldest', async () => {
  const queue = new LiveRequestQueue();
  const slow = new LiveRequestQueue({ maxChars: 3 * 65 });
  const quick = new LiveRequestQueue();
  queue.activeStreamingTools.set('slow', slow).set('quick', quick);
  for (const data of ['a', 'b', 'c', 'd', 'e']) copyInput(queue, { data, mimeType: 'audio/pcm' });
  expect(await heardBy(slow)).toEqual(['c', 'd', 'e']);
  expect(await heardBy(quick)).toEqual(['a', 'b', 'c', 'd', 'e']);
});
