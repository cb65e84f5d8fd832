import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ENGINE_PATH, meterEngine } from './meter-engine.ts';
import { meterWasm } from './meter-wasm.ts';

test('the engine file is the metered build of the installed QuickJS package (to update it: pnpm engine:update)', () => {
  expect(Buffer.compare(readFileSync(ENGINE_PATH), meterEngine())).toBe(0);
});

describe('a metered module', () => {
  // (import "a" "i" (func (param i32) (result i32))) (memory 4), a global, and two functions: one runs a loop as often
  // as its parameter says, the other fills this number of bytes.
  const sized = (...bytes: readonly number[]): number[] => [bytes.length, ...bytes];
  const loop = [0, 0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x0b];
  const fill = [0, 0x41, 0, 0x41, 1, 0x20, 0, 0xfc, 11, 0, 0x0b];
  const sample = Uint8Array.from(
    [
      [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      [1, ...sized(2, 0x60, 1, 0x7f, 1, 0x7f, 0x60, 1, 0x7f, 0)],
      [2, ...sized(1, 1, 0x61, 1, 0x69, 0, 0)],
      [3, ...sized(2, 1, 1)],
      [5, ...sized(1, 0, 4)],
      [6, ...sized(1, 0x7f, 1, 0x41, 7, 0x0b)],
      [7, ...sized(2, 4, 0x6c, 0x6f, 0x6f, 0x70, 0, 1, 4, 0x66, 0x69, 0x6c, 0x6c, 0, 2)],
      [10, ...sized(2, ...sized(...loop), ...sized(...fill))],
    ].flat(),
  );
  const METER = { module: 'a', name: 'i', argument: -9, turns: 100, mark: 'mark' };

  function start(onTick: (argument: number) => void) {
    const module = new WebAssembly.Module(Buffer.from(meterWasm(sample, METER)));
    const i = (argument: number): number => {
      onTick(argument);
      return 1;
    };
    const { exports } = new WebAssembly.Instance(module, { a: { i } });
    return { module, run: (name: string, count: number): unknown => (exports[name] as CallableFunction)(count) };
  }

  test.each([
    ['loop', 99, 0],
    ['loop', 100, 1],
    ['loop', 1_000, 10],
    ['fill', 99 * 64, 0],
    ['fill', 200 * 64, 1],
  ])('counts the operations of %s of %i, and ticks %i times', (name, count, calls) => {
    const reported: number[] = [];
    start((argument) => reported.push(argument)).run(name, count);
    expect(reported).toEqual(Array.from({ length: calls }, () => METER.argument));
  });

  test('carries operations beyond a tick over to the next', () => {
    let ticks = 0;
    const { run } = start(() => ticks++);
    run('fill', 1_000 * 64);
    expect(ticks).toBe(1);
    run('loop', 9);
    expect(ticks).toBe(10);
  });

  test('is ended by an error thrown in a tick', () => {
    const { run } = start(() => {
      throw new RangeError('enough');
    });
    expect(() => run('loop', 0)).toThrow('enough');
  });

  test('is recognised by its mark', () => {
    expect(WebAssembly.Module.customSections(start(() => undefined).module, 'mark')).toHaveLength(1);
  });

  test('cannot be made from a module without the import, or with unknown instructions', () => {
    expect(() => meterWasm(sample, { ...METER, name: 'other' })).toThrow(TypeError);
    const unknown = sample.with(sample.lastIndexOf(0xfc), 0xfd);
    expect(() => meterWasm(unknown, METER)).toThrow(TypeError);
  });
});
