import { LiveConnectionError } from '@eventloom/core';
import type { LiveConnectParameters } from '@google/genai';
import type { ClientSocketFactory, ClientSocket, ClientSocketCallbacks } from '../../live/client-socket.ts';
import type { LiveSession } from '../genai-client.ts';
import type { KeyedApi } from './keyed-api.ts';
import { toLiveSession } from './to-live-session.ts';
import { toLiveSetup } from './to-live-setup.ts';

/** The part of `Live` of `@google/genai` that is used, with the property that `WatchedConnection` replaces. */
interface WebLive {
  readonly webSocketFactory: ClientSocketFactory;
  connect(parameters: LiveConnectParameters): Promise<LiveSession>;
}

/**
 * Creates the live connections of an API. The observer of the socket reads the frames; the first frame that arrives here completes the
 * setup.
 * @throws LiveConnectionError (from `connect`) if the connection ends before; the callbacks get the reason
 */
export function createWebLive(api: KeyedApi): WebLive {
  return {
    webSocketFactory: new WebSocketFactory(),
    async connect({ model, config = {}, callbacks }) {
      const { url, headers } = await api.liveTarget();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const end = () =>
        reject(new LiveConnectionError('the live connection ended before it was set up', { isRetryable: true }));
      const send = (message: object) => socket.send(JSON.stringify(message));
      const socket = this.webSocketFactory.create(url, headers, {
        onopen: () => {
          toLiveSetup(api, model, config)
            .then((setup) => send({ setup }))
            .catch(reject);
        },
        onmessage: () => resolve(),
        onerror: (event) => {
          callbacks.onerror?.(event as ErrorEvent);
          end();
        },
        onclose: (event) => {
          callbacks.onclose?.(event as CloseEvent);
          end();
        },
      });
      socket.connect();
      await promise;
      return toLiveSession(send, () => socket.close(), api.isVertexAI());
    },
  };
}

/**
 * Creates the runtime's own WebSockets for `Live` of `@google/genai`, which exports no factory. WebSockets of browsers
 * cannot send headers.
 */
class WebSocketFactory implements ClientSocketFactory {
  create(url: string, _headers: Record<string, string>, callbacks: ClientSocketCallbacks): WebSocketOfRuntime {
    return new WebSocketOfRuntime(url, callbacks);
  }
}

class WebSocketOfRuntime implements ClientSocket {
  readonly #url: string;
  readonly #callbacks: ClientSocketCallbacks;
  /** The runtime's socket, which `WatchedConnection` reads; undefined before `connect`. */
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
      // Some runtimes give the reason of the failure; browsers do not.
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
