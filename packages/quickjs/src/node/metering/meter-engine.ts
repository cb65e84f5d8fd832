import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { METER } from '../../meter.ts';
import { meterWasm } from './meter-wasm.ts';

/** The path of the engine that the package runs. Only `pnpm engine:update` may change the file. */
export const ENGINE_PATH = join(import.meta.dirname, '../../engine.wasm');

/** Returns the engine that the package must contain: the build of QuickJS that it depends on, with a meter. */
export function meterEngine(): Uint8Array {
  const { resolve } = createRequire(import.meta.url);
  return meterWasm(readFileSync(resolve('@jitl/quickjs-wasmfile-release-sync/wasm')), METER);
}
