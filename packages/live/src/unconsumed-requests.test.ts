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
  requests.resume(false, false);
  expect(requests.peek()).toEqual(blob('B'));
  requests.add(blob('B'));
  requests.shift();
  requests.resume(false, false);
  expect(readAll(requests)).toEqual([blob('B'), blob('C')]);
});

test('no more is kept than four million characters, and what was consumed is counted on', () => {
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

test('an end and what is written stay when there is too much, and what was consumed is counted on', () => {
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

test('a send that was not made is none of those that the service counts', () => {
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

test('an end that comes after the words of its turn ends nothing where these are told', () => {
  const requests = new UnconsumedRequests();
  requests.add({ activityStart: true });
  requests.add(blob('A'));
  requests.speechTranscribed();
  requests.add({ activityEnd: true });
  requests.begin(false);
  expect(readAll(requests)).toEqual([]);
});

test('a send that was not made leaves those after it one place further to the front', () => {
  const requests = new UnconsumedRequests();
  const unmade = blob('B');
  for (const request of [blob('A'), unmade, blob('C'), blob('D')]) requests.add(request);
  requests.remove(unmade);
  requests.consumed(2);
  requests.resume(false, false);
  expect(readAll(requests)).toEqual([blob('D')]);
});

test('what is dropped when a handle comes makes room for as much again', () => {
  const requests = new UnconsumedRequests();
  const second = 'A'.repeat(1024 * 1024);
  for (let count = 0; count < 3; count++) requests.add(blob(second));
  requests.handleGiven();
  for (let count = 0; count < 3; count++) requests.add(blob(`${count}${second}`));
  requests.resume(false, false);
  expect(readAll(requests)).toHaveLength(3);
});
