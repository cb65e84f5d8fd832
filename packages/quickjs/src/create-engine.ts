import { ConfigurationError } from '@eventloom/core';
import defaultVariant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSEmscriptenModule,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import { METER } from './meter.ts';

/** The type `WebAssembly.Module`; any object if the compiler does not know that name, as with only the types of Node. */
type WasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer Module } } } ? Module : object;

/** The WebAssembly module of the engine. */
export interface QuickJsEngine {
  /**
   * The compiled `@eventloom/quickjs/engine.wasm`. Other builds are refused, because only this one counts its operations. Required on
   * Cloudflare Workers, where code cannot be compiled at run time. Default elsewhere: the package reads and compiles the file.
   */
  readonly wasmModule?: WasmModule;
}

/** The build of an engine and its memory. */
interface EngineParams extends QuickJsEngine {
  /** Maximum size of the engine's memory with all its contents, in bytes. */
  readonly memoryBytes: number;
  /** Called after every METER.turns turns of loops. Throws to end the running code and its engine. */
  readonly onTick: () => void;
}

const PAGE_BYTES = 65_536;
/** Initial memory that the engine's build requires; a third of it is the engine's own stack. */
const FIRST_PAGES = 256;
/** Memory that every engine needs, in bytes. */
export const LEAST_MEMORY_BYTES = FIRST_PAGES * PAGE_BYTES;

/** @throws ConfigurationError for a module without a meter */
export function checkEngine({ wasmModule }: QuickJsEngine): void {
  if (wasmModule && WebAssembly.Module.customSections(wasmModule, METER.mark).length === 0)
    throw new ConfigurationError(
      "wasmModule: expected the module of @eventloom/quickjs; write import wasmModule from '@eventloom/quickjs/engine.wasm'",
    );
}

/**
 * Creates a new instance of the engine with its own memory, which never grows beyond its limit. The instance is dropped
 * and never disposed of: freeing a runtime that ran out of memory aborts the engine, and dropping the instance frees
 * everything at once.
 */
export async function createEngine({ wasmModule, memoryBytes, onTick }: EngineParams): Promise<QuickJSWASMModule> {
  const maximum = Math.floor(memoryBytes / PAGE_BYTES);
  const wasmMemory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum });
  const source = wasmModule ? { wasmModule } : { wasmLocation: new URL('./engine.wasm', import.meta.url).href };
  const variant = newVariant(withoutDefault(defaultVariant), { ...source, wasmMemory });
  const { promise: loaded, resolve } = Promise.withResolvers<QuickJSEmscriptenModule>();
  const engine = await newQuickJSWASMModuleFromVariant({
    ...variant,
    importModuleLoader: async () => {
      const found = await variant.importModuleLoader();
      const load = 'default' in found ? withoutDefault(found.default) : found;
      return async (options) => {
        const module = await load(options);
        resolve(module);
        return module;
      };
    },
  });
  const module = await loaded;
  failWithoutMemory(module);
  const { shouldInterrupt } = module.callbacks;
  module.callbacks.shouldInterrupt = (asyncify, runtime) => {
    if (Number(runtime) !== METER.argument) return shouldInterrupt(asyncify, runtime);
    onTick();
    return 0;
  };
  return engine;
}

/** Makes the allocator throw if it is out of memory. QuickJS would otherwise copy strings to address 0. */
function failWithoutMemory(module: QuickJSEmscriptenModule): void {
  const allocate = module._malloc.bind(module);
  module._malloc = (size) => {
    const address = allocate(size);
    if (address === 0) throw new RangeError('out of memory');
    return address;
  };
}

/** Returns a module without its `default`. The types of the default build describe the CommonJS form, which has one level of it more. */
function withoutDefault<T extends object>(module: T | { readonly default: T }): T {
  return 'default' in module ? module.default : module;
}
