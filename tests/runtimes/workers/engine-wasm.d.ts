// As Workers and their bundlers give it.

declare module '*/engine.wasm' {
  const wasmModule: WebAssembly.Module;
  export default wasmModule;
}
