import { expect, test } from 'vitest';
import { createEngine } from './create-engine.ts';

// Workers cannot compile WebAssembly at run time, so they import the engine.
const ENGINE =
  navigator.userAgent === 'Cloudflare-Workers' ? { wasmModule: (await import('./engine.wasm')).default } : {};

const MIB = 1024 * 1024;

test.each([16, 24.5, 40])('the memory of an engine grows up to its limit of %d MiB', async (mebibytes) => {
  const memoryBytes = mebibytes * MIB;
  const engine = await createEngine({ ...ENGINE, memoryBytes, onTick: () => undefined });
  const context = engine.newContext();
  const ended = context.evalCode('globalThis.held = []; for (;;) held.push(new Uint8Array(100_000).fill(1))');
  expect(ended.error && context.dump(ended.error)).toMatchObject({ message: 'out of memory' });
  const { byteLength } = engine.getWasmMemory().buffer;
  expect(byteLength).toBeLessThanOrEqual(memoryBytes);
  expect(byteLength).toBeGreaterThan(0.85 * memoryBytes);
});

test('a long call of a built-in function ticks, and an error thrown by a tick ends it', async () => {
  let ticks = 0;
  const onTick = (): void => {
    if (++ticks === 100) throw new RangeError('enough');
  };
  const context = (await createEngine({ ...ENGINE, memoryBytes: 16 * MIB, onTick })).newContext();
  expect(() => context.evalCode('"a".repeat(20_000).indexOf("a".repeat(10_000) + "b")')).toThrow('enough');
});

test('a string that does not fit the memory fails', async () => {
  const context = (await createEngine({ ...ENGINE, memoryBytes: 16 * MIB, onTick: () => undefined })).newContext();
  expect(() => context.newString('x'.repeat(17 * MIB))).toThrow(RangeError);
});
