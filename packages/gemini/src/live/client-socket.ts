import type { LiveMessage } from './live-message.ts';

/** The side of a WebSocket that the client of @google/genai uses. */
export interface ClientSocket {
  connect(): void;
  send(message: string): void;
  close(): void;
}

/** What the client listens to. */
export interface ClientSocketCallbacks {
  readonly onopen: () => void;
  readonly onmessage: (event: { readonly data: unknown }) => void;
  readonly onerror: (event: { readonly message?: string }) => void;
  readonly onclose: (event: { readonly code?: number; readonly reason?: string }) => void;
}

/** How the client makes its WebSockets. */
export interface ClientSocketFactory {
  create(url: string, headers: Record<string, string>, callbacks: ClientSocketCallbacks): ClientSocket;
}

/** How a connection ended: its close code and reason, or what the runtime said of the failure. */
export interface Ending {
  readonly code?: number | undefined;
  readonly reason?: string | undefined;
  readonly failure?: string | undefined;
  /** The service's own code, where it gave one. */
  readonly status?: string | undefined;
}

/** Who is told what comes over a connection, until it ends. */
export interface ConnectionListener {
  onMessage(message: LiveMessage): void;
  onEnd(ending: Ending): void;
}
