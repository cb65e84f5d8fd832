import type { ClientSocket, ClientSocketCallbacks, ClientSocketFactory } from '../../live/client-socket.ts';

/** Makes the runtime's own WebSockets for `Live` of @google/genai, which exports no factory. They send no headers: none can. */
export class WebSocketFactory implements ClientSocketFactory {
  create(url: string, _headers: Record<string, string>, callbacks: ClientSocketCallbacks): WebSocketOfRuntime {
    return new WebSocketOfRuntime(url, callbacks);
  }
}

class WebSocketOfRuntime implements ClientSocket {
  readonly #url: string;
  readonly #callbacks: ClientSocketCallbacks;
  /** Seen by who bounds the connection: see WatchedConnection. */
  ws: WebSocket | undefined;

  constructor(url: string, callbacks: ClientSocketCallbacks) {
    this.#url = url;
    this.#callbacks = callbacks;
  }

  connect(): void {
    this.ws = new WebSocket(this.#url);
    this.ws.onopen = this.#callbacks.onopen;
    this.ws.onmessage = this.#callbacks.onmessage;
    this.ws.onclose = this.#callbacks.onclose;
    this.ws.onerror = (event) => {
      // Why it failed is told by some runtimes, and by no browser.
      const message: unknown = Reflect.get(event, 'message');
      this.#callbacks.onerror(typeof message === 'string' ? { message } : {});
    };
  }

  send(message: string): void {
    this.ws?.send(message);
  }

  close(): void {
    this.ws?.close();
  }
}
