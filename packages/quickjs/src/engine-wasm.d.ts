/** The engine, compiled, as Workers and their bundlers give it. */
declare const wasmModule: WebAssembly.Module;
export default wasmModule;
