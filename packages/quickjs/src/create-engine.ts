import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';

/** Where the engine comes from. */
export interface QuickJsEngine {
  /**
   * The compiled WebAssembly of the variant. Needed where none may be compiled at run time: on Cloudflare Workers, import
   * `emscripten-module.wasm` of `@jitl/quickjs-wasmfile-release-sync` and hand it in. Elsewhere it saves reading and compiling.
   */
  readonly wasmModule?: WebAssembly.Module;
  /** Another build of QuickJS. Default `@jitl/quickjs-wasmfile-release-sync`. */
  readonly variant?: QuickJSSyncVariant;
}

/**
 * A new instance of the engine, with a memory of its own, that nothing ran in. It is never disposed of but dropped: freeing a
 * runtime that ran out of memory aborts the engine, and with the instance everything is gone at once.
 */
export async function createEngine({ wasmModule, variant }: QuickJsEngine): Promise<QuickJSWASMModule> {
  const base = variant ?? (await defaultVariant());
  return newQuickJSWASMModuleFromVariant(wasmModule ? newVariant(base, { wasmModule }) : base);
}

/** Loaded when it is needed. Its types are those of its CommonJS form, one `default` further in than the module that is loaded. */
async function defaultVariant(): Promise<QuickJSSyncVariant> {
  const { default: loaded } = await import('@jitl/quickjs-wasmfile-release-sync');
  return 'default' in loaded ? loaded.default : loaded;
}
