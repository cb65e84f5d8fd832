import { BodyTooLargeError } from '@eventloom/server';
import { expect, test } from 'vitest';
import { parseTextFrame } from './client-frame.ts';

test('a frame may have at most as many parts as a message of the server', () => {
  const parts = Array.from({ length: 4 }, () => ({ text: 'x' }));
  const frame = JSON.stringify({ content: { parts } });
  const limits = { maxBodyParts: 3, maxBodyEvents: 3, maxBodyKeys: 3 };
  expect(() => parseTextFrame(frame, limits)).toThrow(BodyTooLargeError);
  expect(parseTextFrame(frame, { ...limits, maxBodyParts: 4 })).toEqual({ content: { parts } });
});
