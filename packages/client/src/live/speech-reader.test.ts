import { describe, expect, test } from 'vitest';
import { SpeechReader } from './speech-reader.ts';

const raw = (...samples: number[]): ArrayBuffer => Int16Array.from(samples).buffer;

/** Makes a WAV file with a chunk of another kind before its samples. */
function wav({ channels = 1, sampleRate = 8000, bits = 16 }, ...samples: number[]): ArrayBuffer {
  const text = new TextEncoder();
  const view = new DataView(new ArrayBuffer(58));
  const bytes = new Uint8Array(view.buffer);
  bytes.set(text.encode('RIFF....WAVEfmt '));
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate, true);
  view.setUint16(34, bits, true);
  bytes.set(text.encode('LIST'), 36);
  view.setUint32(40, 5, true);
  bytes.set(text.encode('data'), 50);
  view.setUint32(54, 0xffff_ffff, true);
  const data = new Uint8Array(raw(...samples));
  const whole = new Uint8Array(58 + data.length);
  whole.set(bytes);
  whole.set(data, 58);
  return whole.buffer;
}

function readAll(mimeType: string, ...pieces: ArrayBuffer[]): (readonly [rate: number, ...samples: number[]])[] {
  const reader = new SpeechReader();
  return pieces.flatMap((piece) => {
    const speech = reader.read(piece, mimeType);
    return speech ? [[speech.sampleRate, ...speech.samples] as const] : [];
  });
}

describe('raw audio', () => {
  test.each([
    ['audio/pcm;rate=16000', 16_000],
    ['audio/L16; rate=48000; channels=1', 48_000],
    ['audio/pcm', 24_000],
    ['audio/pcm;rate=0', 24_000],
  ])('of the type %s has %i samples a second', (mimeType, rate) => {
    expect(readAll(mimeType, raw(1, -2))).toEqual([[rate, 1, -2]]);
  });

  test('continues a sample with the next piece of its type only', () => {
    const bytes = new Uint8Array(raw(1, 2, 3));
    const pieces = [bytes.slice(0, 3).buffer, bytes.slice(3, 4).buffer, bytes.slice(4).buffer];
    expect(readAll('audio/pcm', ...pieces)).toEqual([
      [24_000, 1],
      [24_000, 2],
      [24_000, 3],
    ]);
    const reader = new SpeechReader();
    reader.read(bytes.slice(0, 3).buffer, 'audio/pcm;rate=16000');
    expect(reader.read(raw(7), 'audio/pcm;rate=8000')?.samples).toEqual(Int16Array.of(7));
  });
});

describe('a WAV file', () => {
  test('has the rate of its header, also in further pieces, which end anywhere', () => {
    const file = new Uint8Array(wav({ sampleRate: 8000 }, 1, 2, 3));
    const end = file.length;
    expect(readAll('audio/wav', file.slice(0, end - 3).buffer, file.slice(end - 3).buffer)).toEqual([
      [8000, 1],
      [8000, 2, 3],
    ]);
  });

  test('begins again with each header', () => {
    const files = [wav({}, 1), wav({ sampleRate: 48_000 }, 2)];
    expect(readAll('audio/x-wav', ...files)).toEqual([
      [8000, 1],
      [48_000, 2],
    ]);
  });

  test('of two channels is heard with its first one', () => {
    expect(readAll('audio/wav', wav({ channels: 2 }, 1, -1, 2, -2))).toEqual([[8000, 1, 2]]);
  });

  test('of 24 bits, and audio of another type, is left out', () => {
    expect(readAll('audio/wav', wav({ bits: 24 }, 1, 2), raw(3))).toEqual([]);
    expect(readAll('audio/mpeg', raw(1))).toEqual([]);
    expect(readAll('audio/wav', new ArrayBuffer(3))).toEqual([]);
  });
});
