import type { LiveConnectParameters } from '@google/genai';
import type { GenAiClient, LiveSession } from '../client/genai-client.ts';
import type {
  ClientSocket,
  ClientSocketCallbacks,
  ClientSocketFactory,
  ConnectionListener,
  SocketEnding,
} from './client-socket.ts';
import { FetchSocket, isWorkersRuntime } from './fetch-socket.ts';
import type { LiveMessage } from './live-message.ts';

type Live = NonNullable<GenAiClient['live']>;
type ConnectParameters = Omit<LiveConnectParameters, 'callbacks'> & {
  /** Fields that are added to the setup because the client does not know them. */
  readonly setup: object;
};

/** Members of a runtime's WebSocket that are used in addition to those the client uses; each is optional. */
interface RuntimeSocket {
  binaryType?: string;
  readonly bufferedAmount?: number;
  terminate?(): void;
  pause?(): void;
  resume?(): void;
}

const decoder = new TextDecoder();

/**
 * One live connection of the client, observed at the socket. The client alone cannot end a connection before its setup, ends the process at
 * a frame that is not JSON, and may reorder frames of two kinds. Therefore its socket is created here, and the client gets only the frame
 * that completes its setup. A client that creates its sockets in another way is used unchanged.
 */
export class WatchedConnection {
  readonly #listener: ConnectionListener;
  #socket: ClientSocket | undefined;
  #runtimeSocket: RuntimeSocket = {};
  #session: LiveSession | undefined;
  #isEnded = false;
  /** Fields that are still to be added to the setup, which is the first message that the client sends. */
  #setup: object | undefined;

  constructor(listener: ConnectionListener) {
    this.#listener = listener;
  }

  /** Opens the connection. Resolves when its setup is complete. The listener is called with the end of the connection too. */
  async open(live: Live, { setup, ...parameters }: ConnectParameters): Promise<LiveSession> {
    this.#setup = setup;
    const factory: unknown = Reflect.get(live, 'webSocketFactory');
    const connected = (isFactory(factory) ? this.#watch(live, factory) : live).connect({
      ...parameters,
      callbacks: {
        // The client's form of the message: that of the wire with additional getters. From a watched socket only
        // `setupComplete` arrives here, again.
        onmessage: (message) => this.#tell(message as object),
        onerror: ({ message }) => this.#end({ failure: message }),
        onclose: ({ code, reason }) => this.#end({ code, reason }),
      },
    });
    this.#session = await connected;
    if (this.#isEnded) this.#session.close();
    return this.#session;
  }

  /** Number of bytes that were sent and that the network has not taken yet; 0 if the runtime does not report it. */
  get bufferedBytes(): number {
    return this.#runtimeSocket.bufferedAmount ?? 0;
  }

  /** Closes the connection after the bytes already sent. The listener is no longer called. */
  close(): void {
    this.#isEnded = true;
    try {
      (this.#session ?? this.#socket)?.close();
    } catch {
      // The socket is closed already, or was never open.
    }
  }

  /** Ends the connection immediately, without waiting for the service. The listener is no longer called. */
  terminate(): void {
    this.#isEnded = true;
    if (this.#runtimeSocket.terminate) this.#runtimeSocket.terminate();
    else this.close();
  }

  /** Pauses the socket, if the runtime can. */
  pause(): void {
    if (!this.#isEnded) this.#runtimeSocket.pause?.();
  }

  resume(): void {
    if (!this.#isEnded) this.#runtimeSocket.resume?.();
  }

  /** Returns the client's `Live` with observed sockets, for this one connection. */
  #watch(live: Live, factory: ClientSocketFactory): Live {
    const watched: ClientSocketFactory = {
      create: (url, headers, callbacks) => {
        const seen = { ...callbacks, onmessage: (event: { readonly data: unknown }) => this.#read(event, callbacks) };
        const socket = isWorkersRuntime() ? new FetchSocket(url, headers, seen) : factory.create(url, headers, seen);
        this.#socket = socket;
        return {
          connect: () => this.#connect(socket),
          send: (message) => socket.send(this.#setup ? this.#withSetup(message) : message),
          close: () => socket.close(),
        };
      },
    };
    return Object.create(live, { webSocketFactory: { value: watched } }) as Live;
  }

  #withSetup(message: string): string {
    const extra = this.#setup;
    this.#setup = undefined;
    const { setup, ...rest } = JSON.parse(message) as { setup?: object };
    return JSON.stringify({ ...rest, setup: { ...setup, ...extra } });
  }

  #connect(socket: ClientSocket): void {
    if (this.#isEnded) return;
    socket.connect();
    const runtimeSocket: unknown = Reflect.get(socket, 'ws');
    if (typeof runtimeSocket !== 'object' || runtimeSocket === null) return;
    this.#runtimeSocket = runtimeSocket;
    // Array buffers are read synchronously; blobs are read with a promise, so that later frames would overtake them.
    if (this.#runtimeSocket.binaryType === 'blob') this.#runtimeSocket.binaryType = 'arraybuffer';
  }

  #read({ data }: { readonly data: unknown }, client: ClientSocketCallbacks): void {
    if (this.#isEnded) return;
    let message: unknown;
    try {
      message = JSON.parse(typeof data === 'string' ? data : decoder.decode(data as Uint8Array));
    } catch {
      return this.#broken('is no JSON');
    }
    if (typeof message !== 'object' || message === null) return this.#broken('is not a JSON object');
    if ('setupComplete' in message) client.onmessage({ data: '{"setupComplete":{}}' });
    this.#tell(message);
  }

  /** Handles a frame and never throws: an error in a listener of the socket would end the process. */
  #tell(message: LiveMessage): void {
    if (this.#isEnded) return;
    try {
      this.#listener.onMessage(withoutNulls(message));
    } catch (error) {
      this.#broken(`cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #broken(how: string): void {
    this.#end({ failure: `the service sent a frame that ${how}` });
    this.terminate();
  }

  #end(ending: SocketEnding): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#listener.onEnd(ending);
  }
}

function isFactory(value: unknown): value is ClientSocketFactory {
  return typeof value === 'object' && value !== null && 'create' in value && typeof value.create === 'function';
}

/** Fields that hold values of the program, in which null is a value and is kept. */
const VALUES: ReadonlySet<string> = new Set(['args', 'response']);

/**
 * Removes null fields and null items from a message: protobuf's JSON may write an unset field as null. Returns the same object if there
 * are none. Null inside call arguments and function responses is kept.
 */
export function withoutNulls<T extends object>(message: T): T {
  return hasNull(message) ? (stripped(message) as T) : message;
}

function hasNull(value: object): boolean {
  for (const key in value) {
    const inner: unknown = Reflect.get(value, key);
    if (inner === null || (isFields(key, inner) && hasNull(inner))) return true;
  }
  return false;
}

function stripped(value: object): object {
  const kept: [string, unknown][] = [];
  for (const [key, inner] of Object.entries(value) as [string, unknown][])
    if (inner !== null) kept.push([key, isFields(key, inner) ? withoutNulls(inner) : inner]);
  return Array.isArray(value) ? kept.map(([, inner]) => inner) : Object.fromEntries(kept);
}

function isFields(key: string, value: unknown): value is object {
  return typeof value === 'object' && value !== null && !VALUES.has(key);
}
