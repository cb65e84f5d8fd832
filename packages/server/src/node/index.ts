// Listens on a port with Node's HTTP server. Node only.

export type { NodeServer, ServeOptions } from './serve.ts';
export { isLoopbackHost, nodeListener, serve } from './serve.ts';
export { shutDownOnSignal } from './shut-down-on-signal.ts';
