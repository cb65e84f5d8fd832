import { BodyTooLargeError } from '@eventloom/server';
import { expect, test } from 'vitest';
import { parseTextFrame } from './client-frame.ts';

test('a frame has no more parts than the server takes in a message', () => {
  const parts = Array.from({ length: 4 }, () => ({ text: 'x' }));
  const frame = JSON.stringify({ content: { parts } });
  const limits = { maxBodyParts: 3, maxBodyEvents: 3, maxBodyKeys: 3 };
  expect(() => parseTextFrame(frame, limits)).toThrow(BodyTooLargeError);
  expect(parseTextFrame(frame, { ...limits, maxBodyParts: 4 })).toEqual({ content: { parts } });
});
