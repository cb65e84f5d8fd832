import type { LiveRequest } from '@eventloom/core';
import { expect, test } from 'vitest';
import { UnconsumedRequests } from './unconsumed-requests.ts';

function blob(data: string): LiveRequest {
  return { blob: { data, mimeType: 'audio/pcm' } };
}

function readAll(requests: UnconsumedRequests): LiveRequest[] {
  const read: LiveRequest[] = [];
  for (let request = requests.peek(); request; request = requests.peek()) {
    read.push(request);
    requests.shift();
  }
  return read;
}

test('what was sent and not consumed is sent again, in order, whichever connection it was sent on', () => {
  const requests = new UnconsumedRequests();
  for (const data of ['A', 'B', 'C']) requests.add(blob(data));
  requests.consumed(1);
  requests.reconnect();
  expect(requests.peek()).toEqual(blob('B'));
  requests.add(blob('B'));
  requests.shift();
  requests.reconnect();
  expect(readAll(requests)).toEqual([blob('B'), blob('C')]);
});

test('no more is kept than four million characters, and what was consumed is counted on', () => {
  const requests = new UnconsumedRequests();
  const second = 'A'.repeat(1024 * 1024);
  for (let count = 0; count < 10; count++) requests.add(blob(`${count}${second}`));
  requests.consumed(8);
  requests.reconnect();
  expect(readAll(requests).map((request) => 'blob' in request && request.blob.data?.[0])).toEqual(['8', '9']);
  for (let count = 0; count < 10; count++) requests.add(blob(`${count}${second}`));
  requests.reconnect();
  expect(readAll(requests)).toHaveLength(3);
});
