import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { RECORDER_SCRIPT } from './index.ts';

interface Recorder {
  process(inputs: readonly (readonly Float32Array[])[]): boolean;
}

/** Runs the script of the audio thread with input of a rate, and returns the samples that it posts. */
function record(sampleRate: number, input: Float32Array): number[] {
  const posted: number[] = [];
  const made: Recorder[] = [];
  class AudioWorkletProcessor {
    readonly port = { postMessage: (samples: Int16Array) => void posted.push(...samples) };
  }
  const registerProcessor = (_name: string, Processor: new () => Recorder): void => void made.push(new Processor());
  runInNewContext(RECORDER_SCRIPT, { AudioWorkletProcessor, registerProcessor, sampleRate });
  for (let at = 0; at < input.length; at += 128) made[0]?.process([[input.subarray(at, at + 128)]]);
  return posted;
}

/** A tone of 100 hertz for a second. */
function tone(sampleRate: number): Float32Array {
  return Float32Array.from({ length: sampleRate }, (_, index) => Math.sin((2 * Math.PI * 100 * index) / sampleRate));
}

test('a microphone gives samples as they are at 16,000 a second', () => {
  const samples = record(16_000, tone(16_000));
  expect(samples).toHaveLength(16_000);
  expect(samples[40]).toBe(Math.trunc(32_767 * Math.sin((2 * Math.PI * 100 * 40) / 16_000)));
});

test.each([48_000, 44_100, 8000])('a microphone with %i samples a second gives 16,000 of the same tone', (rate) => {
  const samples = record(rate, tone(rate));
  expect(Math.abs(samples.length - 16_000)).toBeLessThanOrEqual(640);
  const crossings = samples.filter((value, index) => value >= 0 && (samples[index - 1] ?? 0) < 0).length;
  expect(crossings).toBeGreaterThanOrEqual(95);
  expect(crossings).toBeLessThanOrEqual(100);
  expect(Math.max(...samples)).toBeGreaterThan(31_000);
});
