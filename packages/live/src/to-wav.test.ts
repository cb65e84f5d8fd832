import { expect, test } from 'vitest';
import { isPcm, sampleRateOf, toWav } from './to-wav.ts';

test('toWav writes a header with the duration, and the samples in order', () => {
  const wav = toWav([new Uint8Array([1, 2, 3]), new Uint8Array([4, 5])], 24_000);
  const view = new DataView(wav.buffer);
  expect(wav.length).toBe(48);
  expect(view.getUint32(4, true)).toBe(40);
  expect(view.getUint32(24, true)).toBe(24_000);
  expect(view.getUint32(28, true)).toBe(48_000);
  expect(view.getUint32(40, true)).toBe(4);
  expect([...wav.subarray(44)]).toEqual([1, 2, 3, 4]);
  expect(new TextDecoder().decode(wav.subarray(0, 4))).toBe('RIFF');
  expect(new TextDecoder().decode(wav.subarray(8, 16))).toBe('WAVEfmt ');
});

test('the MIME type names raw samples and their rate', () => {
  expect(sampleRateOf('audio/pcm;rate=24000')).toBe(24_000);
  expect(sampleRateOf('audio/pcm; rate=8000')).toBe(8000);
  expect(sampleRateOf('audio/pcm')).toBeUndefined();
  expect(isPcm('audio/pcm;rate=16000')).toBe(true);
  expect(isPcm('audio/L16')).toBe(true);
  expect(isPcm('audio/ogg')).toBe(false);
});
