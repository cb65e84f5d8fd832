import { BodyTooLargeError, DEFAULT_LIMITS } from '@eventloom/server';
import { expect, test } from 'vitest';
import { parseTextFrame } from './client-frame.ts';

test('a frame may have at most as many parts as a message of the server', () => {
  const parts = Array.from({ length: 4 }, () => ({ text: 'x' }));
  const frame = JSON.stringify({ content: { parts } });
  const limits = { ...DEFAULT_LIMITS, maxBodyParts: 3 };
  expect(() => parseTextFrame(frame, limits)).toThrow(BodyTooLargeError);
  expect(parseTextFrame(frame, { ...limits, maxBodyParts: 4 })).toEqual({ content: { parts } });
});

test('a frame may have at most as many keys as a body of the server', () => {
  const args = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`key ${index}`, 1]));
  const frame = JSON.stringify({
    content: { parts: [{ functionResponse: { id: 'c', name: 'look', response: args } }] },
  });
  const limits = { ...DEFAULT_LIMITS, maxBodyTotalKeys: 20 };
  expect(() => parseTextFrame(frame, limits)).toThrow('frame: has more than 20 keys in total');
  expect(() => parseTextFrame(frame, { ...limits, maxBodyTotalKeys: 26 })).not.toThrow();
});

test('a frame may have a media type of at most 256 characters', () => {
  const frame = (mimeType: string) => JSON.stringify({ blob: { mimeType, data: 'AAAA' } });
  const longest = `audio/${'x'.repeat(250)}`;
  expect(parseTextFrame(frame(longest), DEFAULT_LIMITS)).toEqual({ blob: { mimeType: longest, data: 'AAAA' } });
  expect(() => parseTextFrame(frame(`${longest}x`), DEFAULT_LIMITS)).toThrow('of at most 256 characters');
});
