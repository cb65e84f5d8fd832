import { LiveConnectionError } from '@eventloom/core';
import type { LiveConnectParameters } from '@google/genai';
import type { ClientSocketFactory } from '../../live/client-socket.ts';
import type { LiveSession } from '../genai-client.ts';
import type { KeyedApi } from './keyed-api.ts';
import { toLiveSession } from './to-live-session.ts';
import { toLiveSetup } from './to-live-setup.ts';
import { WebSocketFactory } from './web-socket-factory.ts';

/** What is used of `Live` of @google/genai, with the property that `WatchedConnection` puts another in the place of. */
export interface WebLive {
  readonly webSocketFactory: ClientSocketFactory;
  connect(parameters: LiveConnectParameters): Promise<LiveSession>;
}

/**
 * The live connections of an API. Frames are read by who watches the socket; the first that gets here says that the setup is complete.
 * @throws LiveConnectionError (from `connect`) when the connection ends before; why is told to the callbacks
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
