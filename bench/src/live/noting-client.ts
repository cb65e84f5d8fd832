import { GoogleGenAI } from '@google/genai';
import { sharedMs } from './clock.ts';

/** The callback of the client's sockets that is observed here. */
interface SocketCallbacks {
  readonly onmessage: (event: { readonly data: unknown }) => void;
}
interface SocketFactory {
  create(url: string, headers: object, callbacks: SocketCallbacks): object;
}

/**
 * The real client for a service at this address, which reports each frame before it processes the frame, so that the work of the client is
 * measured too.
 */
export function notingClient(url: string, onFrame: (atMs: number) => void): GoogleGenAI {
  const client = new GoogleGenAI({ apiKey: 'bench', httpOptions: { baseUrl: url } });
  const factory = Reflect.get(client.live, 'webSocketFactory') as SocketFactory;
  const noting: SocketFactory = {
    create: (address, headers, callbacks) =>
      factory.create(address, headers, {
        ...callbacks,
        onmessage: (event) => {
          onFrame(sharedMs());
          callbacks.onmessage(event);
        },
      }),
  };
  Reflect.set(client.live, 'webSocketFactory', noting);
  return client;
}
