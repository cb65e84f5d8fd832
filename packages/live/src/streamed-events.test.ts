import { createEvent } from '@eventloom/core';
import { expect, test } from 'vitest';
import { isLiveMedia } from './streamed-events.ts';

const picture = { inlineData: { data: 'AAAA', mimeType: 'image/png' } };

test.each([
  ['audio or pictures', [picture, picture], true],
  ['a picture with words', [{ text: 'this one' }, picture], false],
  ['words', [{ text: 'hi' }], false],
  ['nothing', [], false],
])('isLiveMedia is true only for content without anything but media: %s', (_, parts, expected) => {
  expect(isLiveMedia(createEvent({ content: { role: 'user', parts } }))).toBe(expected);
});
