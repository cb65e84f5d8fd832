import { ConfigurationError } from '@eventloom/core';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { runInQuickJs } from './run-in-quickjs.ts';

// The limit is far more than the time of the code: code that is not stopped would take minutes.
const GENEROUS_MS = 20_000;

test.each([
  'const text = "x".repeat(5e6); for (let turn = 0; turn < 30_000; turn++) text.indexOf("y")',
  'const items = Array(1e6).fill(1); for (let turn = 0; turn < 30_000; turn++) items.indexOf(2)',
  '"a".repeat(1e6).indexOf("a".repeat(5e5) + "b")',
])('long calls of built-in functions are stopped after timeoutMs on a real clock: %s', async (code) => {
  const startMs = performance.now();
  const params = { code, timeoutMs: 100, maxOperations: 1e15, now: () => performance.now() };
  const { outcome, stderr } = await runInQuickJs(params);
  expect(outcome).toBe('OUTCOME_DEADLINE_EXCEEDED');
  expect(stderr).toContain('100 ms');
  expect(performance.now() - startMs).toBeLessThan(GENEROUS_MS);
});

test('an engine build without metering is refused', async () => {
  const path = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm');
  const wasmModule = new WebAssembly.Module(readFileSync(path));
  await expect(runInQuickJs({ code: '1', wasmModule, now: () => 0 })).rejects.toBeInstanceOf(ConfigurationError);
});
