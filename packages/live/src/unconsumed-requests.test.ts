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

test('requests that were not consumed are sent again in order, whichever connection they were sent on', () => {
  const requests = new UnconsumedRequests();
  for (const data of ['A', 'B', 'C']) requests.add(blob(data));
  requests.consumed(1);
  requests.resume(false, false);
  expect(requests.peek()).toEqual(blob('B'));
  requests.add(blob('B'));
  requests.shift();
  requests.resume(false, false);
  expect(readAll(requests)).toEqual([blob('B'), blob('C')]);
});

test('at most four million characters are kept, and the count of consumed sends stays correct', () => {
  const requests = new UnconsumedRequests();
  const second = 'A'.repeat(1024 * 1024);
  for (let count = 0; count < 10; count++) requests.add(blob(`${count}${second}`));
  requests.consumed(8);
  requests.resume(false, false);
  expect(readAll(requests).map((request) => 'blob' in request && request.blob.data?.[0])).toEqual(['8', '9']);
  for (let count = 0; count < 10; count++) requests.add(blob(`${count}${second}`));
  requests.resume(false, false);
  expect(readAll(requests)).toHaveLength(3);
});

test('text and activity ends are kept when audio is dropped, and the count of consumed sends stays correct', () => {
  const requests = new UnconsumedRequests();
  const second = 'A'.repeat(1024 * 1024);
  const written: LiveRequest = { content: { role: 'user', parts: [{ text: 'hi' }] } };
  requests.add({ activityStart: true });
  requests.add(written);
  for (let count = 0; count < 5; count++) requests.add(blob(`${count}${second}`));
  requests.add({ activityEnd: true });
  requests.consumed(1);
  requests.resume(true, false);
  expect(readAll(requests).map((request) => ('blob' in request ? request.blob.data?.[0] : request))).toEqual([
    written,
    '2',
    '3',
    '4',
    { activityEnd: true },
  ]);
});

test('a failed send is not among the sends that the service counts', () => {
  const requests = new UnconsumedRequests();
  const failed = blob('B');
  requests.add(blob('A'));
  requests.add(failed);
  requests.add(blob('C'));
  requests.remove(failed);
  requests.add(blob('D'));
  requests.add(blob('E'));
  requests.consumed(3);
  requests.resume(false, false);
  expect(readAll(requests)).toEqual([blob('E')]);
});

test('an activity end whose transcription was received is not sent again with the history', () => {
  const requests = new UnconsumedRequests();
  requests.add({ activityStart: true });
  requests.add(blob('A'));
  requests.speechTranscribed();
  requests.add({ activityEnd: true });
  requests.begin(false);
  expect(readAll(requests)).toEqual([]);
});

test('a failed send moves later sends one position forward', () => {
  const requests = new UnconsumedRequests();
  const unmade = blob('B');
  for (const request of [blob('A'), unmade, blob('C'), blob('D')]) requests.add(request);
  requests.remove(unmade);
  requests.consumed(2);
  requests.resume(false, false);
  expect(readAll(requests)).toEqual([blob('D')]);
});

test('requests dropped by a handle free their space', () => {
  const requests = new UnconsumedRequests();
  const second = 'A'.repeat(1024 * 1024);
  for (let count = 0; count < 3; count++) requests.add(blob(second));
  requests.handleGiven();
  for (let count = 0; count < 3; count++) requests.add(blob(`${count}${second}`));
  requests.resume(false, false);
  expect(readAll(requests)).toHaveLength(3);
});
