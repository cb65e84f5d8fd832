import type { LiveMessage } from './live-message.ts';

/** The side of a WebSocket that the client of `@google/genai` uses. */
export interface ClientSocket {
  connect(): void;
  send(message: string): void;
  close(): void;
}

/** The callbacks that the client sets on its WebSocket. */
export interface ClientSocketCallbacks {
  readonly onopen: () => void;
  readonly onmessage: (event: { readonly data: unknown }) => void;
  readonly onerror: (event: { readonly message?: string }) => void;
  readonly onclose: (event: { readonly code?: number; readonly reason?: string }) => void;
}

/** The factory with which the client makes its WebSockets. */
export interface ClientSocketFactory {
  create(url: string, headers: Record<string, string>, callbacks: ClientSocketCallbacks): ClientSocket;
}

/** The end of a connection: its close code and reason, or the failure that the runtime reported. */
export interface SocketEnding {
  readonly code?: number | undefined;
  readonly reason?: string | undefined;
  readonly failure?: string | undefined;
  /** The service's own code, where it gave one. */
  readonly status?: string | undefined;
}

/** Receives the messages of a connection until it ends. */
export interface ConnectionListener {
  onMessage(message: LiveMessage): void;
  onEnd(ending: SocketEnding): void;
}
