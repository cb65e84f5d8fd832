import type { LiveLlmResponse } from '@eventloom/core';
import { expect, test } from 'vitest';
import { LiveInbox } from './live-inbox.ts';

function inbox(maxChars = 10_000) {
  const signals: string[] = [];
  const box = new LiveInbox({
    maxChars,
    onFull: () => signals.push('full'),
    onRoom: () => signals.push('room'),
    onOverflow: () => signals.push('overflow'),
  });
  return { box, signals };
}

function said(text: string): LiveLlmResponse {
  return { content: { role: 'model', parts: [{ text }] } };
}

function audio(chars: number): LiveLlmResponse {
  return { content: { parts: [{ inlineData: { data: 'A'.repeat(chars), mimeType: 'audio/pcm' } }] } };
}

test('responses are read in order, however far behind the reader is', async () => {
  const { box } = inbox(10_000_000);
  const texts = Array.from({ length: 5000 }, (_, index) => `${index}`);
  const taken: unknown[] = [];
  const reading = (async () => {
    for (let response = await box.take(); response; response = await box.take()) {
      taken.push(response.content?.parts?.[0]?.text);
    }
  })();
  for (const text of texts.slice(0, 10)) {
    box.push(said(text));
    await Promise.resolve();
  }
  for (const text of texts.slice(10)) box.push(said(text));
  box.end({});
  box.push(said('too late'));
  await reading;
  expect(taken).toEqual(texts);
});

test('the first error is thrown after the responses before it', async () => {
  const { box } = inbox();
  box.push(said('a'));
  box.end({ error: new TypeError('first') });
  box.end({});
  box.end({ error: new TypeError('second') });
  expect(await box.take()).toEqual(said('a'));
  await expect(box.take()).rejects.toThrow('first');
});

test('an abort is thrown before unread responses, also after an end', async () => {
  const { box } = inbox();
  box.push(said('a'));
  box.end({});
  box.abort(new TypeError('now'));
  await expect(box.take()).rejects.toThrow('now');
});

test('the sender is paused once, and resumed when half is read', async () => {
  const { box, signals } = inbox();
  for (let index = 0; index < 12; index++) box.push(audio(1000));
  expect(signals).toEqual(['full']);
  for (let index = 0; index < 8; index++) await box.take();
  expect(signals).toEqual(['full']);
  await box.take();
  expect(signals).toEqual(['full', 'room']);
  for (let index = 0; index < 8; index++) box.push(audio(1000));
  expect(signals).toEqual(['full', 'room', 'full']);
});

test('a sender that does not pause causes an overflow', () => {
  const { box, signals } = inbox();
  for (let index = 0; index < 8; index++) box.push(audio(9500));
  expect(signals).toEqual(['full']);
  box.push(audio(9500));
  expect(signals).toEqual(['full', 'overflow']);
});
