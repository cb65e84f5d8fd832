/** The compiled engine: a `WebAssembly.Module`, as Workers and their bundlers import it. */
declare const wasmModule: typeof globalThis extends { WebAssembly: { Module: { prototype: infer Module } } }
  ? Module
  : object;
export default wasmModule;
