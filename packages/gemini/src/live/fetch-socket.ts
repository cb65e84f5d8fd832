import type { ClientSocket, ClientSocketCallbacks } from './client-socket.ts';

/** A WebSocket of the Workers runtime, which must be accepted before it delivers messages. */
interface WorkersSocket {
  accept(): void;
  send(message: string): void;
  close(code?: number): void;
  binaryType?: string;
  addEventListener(type: string, listener: (event: never) => void): void;
}

/** True in the Workers runtime. */
export function isWorkersRuntime(): boolean {
  return 'WebSocketPair' in globalThis;
}

/**
 * A WebSocket that is opened with `fetch`, which only the Workers runtime supports. The runtime's `new WebSocket(url)`, which the client
 * uses, sends no headers (so that Vertex AI refuses it), and does not report the status of a refusal.
 */
export class FetchSocket implements ClientSocket {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #callbacks: ClientSocketCallbacks;
  #socket: WorkersSocket | undefined;
  readonly #opening = new AbortController();
  #isClosed = false;

  constructor(url: string, headers: Record<string, string>, callbacks: ClientSocketCallbacks) {
    this.#url = url.replace(/^ws/, 'http');
    this.#headers = headers;
    this.#callbacks = callbacks;
  }

  connect(): void {
    this.#open().catch((error: unknown) => {
      this.#callbacks.onerror({ message: error instanceof Error ? error.message : String(error) });
    });
  }

  send(message: string): void {
    this.#socket?.send(message);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#socket) this.#socket.close(1000);
    else this.#opening.abort();
  }

  async #open(): Promise<void> {
    const response = await fetch(this.#url, {
      headers: { ...this.#headers, upgrade: 'websocket' },
      signal: this.#opening.signal,
    });
    const socket: unknown = Reflect.get(response, 'webSocket');
    if (!isWorkersSocket(socket)) {
      // The same text as that of the client library on Node.
      this.#callbacks.onerror({ message: `Unexpected server response: ${response.status}` });
      await response.body?.cancel();
      return;
    }
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    const { onmessage, onerror, onclose } = this.#callbacks;
    socket.addEventListener('message', onmessage);
    socket.addEventListener('error', onerror);
    socket.addEventListener('close', (event: { readonly code?: number; readonly reason?: string }) => {
      // The service waits for the answer to its close frame.
      if (!this.#isClosed) this.close();
      onclose(event);
    });
    socket.accept();
    this.#callbacks.onopen();
  }
}

function isWorkersSocket(value: unknown): value is WorkersSocket {
  return typeof value === 'object' && value !== null && 'accept' in value;
}
