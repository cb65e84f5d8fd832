// As the bundlers of Workers give it.

declare module '@jitl/quickjs-wasmfile-release-sync/wasm' {
  const wasmModule: WebAssembly.Module;
  export default wasmModule;
}
