import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { METER } from '../../meter.ts';
import { meterWasm } from './meter-wasm.ts';

/** Where the engine is that the package runs. Bytes of it are only ever changed by `pnpm engine:update`. */
export const ENGINE_PATH = join(import.meta.dirname, '../../engine.wasm');

/** The engine as it has to be: the build of QuickJS that the package depends on, with a meter. */
export function meterEngine(): Uint8Array {
  const { resolve } = createRequire(import.meta.url);
  return meterWasm(readFileSync(resolve('@jitl/quickjs-wasmfile-release-sync/wasm')), METER);
}
