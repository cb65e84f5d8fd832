import type { EventloomServer, LiveAdmission, LiveSocket } from '@eventloom/server';

/** What is used of one end of a WebSocket in a Worker. */
interface WorkerSocket {
  binaryType: string;
  accept(): void;
  send(frame: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'message', listener: (event: { readonly data: string | ArrayBuffer }) => void): void;
  addEventListener(type: 'close' | 'error', listener: () => void): void;
}

declare const WebSocketPair: new () => { readonly 0: WorkerSocket; readonly 1: WorkerSocket };

/**
 * Answers a request for a WebSocket, and holds the call behind it.
 * @param onCall told of the call, with a promise that settles at its end
 */
export async function acceptLive(
  request: Request,
  server: Pick<EventloomServer, 'admitLive'>,
  onCall?: (ended: Promise<void>) => void,
): Promise<Response> {
  return openPair(await server.admitLive(request), onCall);
}

/** A WebSocket for what was admitted. */
export function openPair(admission: LiveAdmission, onCall?: (ended: Promise<void>) => void): Response {
  const { 0: webSocket, 1: socket } = new WebSocketPair();
  socket.binaryType = 'arraybuffer';
  socket.accept();
  const call = admission.open(toLiveSocket(socket));
  socket.addEventListener('message', ({ data }) =>
    call.message(typeof data === 'string' ? data : new Uint8Array(data)),
  );
  socket.addEventListener('close', () => call.closed());
  socket.addEventListener('error', () => call.closed());
  onCall?.(call.ended);
  const { protocol } = admission;
  const headers: HeadersInit = protocol === undefined ? {} : { 'sec-websocket-protocol': protocol };
  const init: ResponseInit & { webSocket: WorkerSocket } = { status: 101, headers, webSocket };
  return new Response(null, init);
}

/** The runtime has no pings of its own, does not say what waits, and cannot make a client wait. */
function toLiveSocket(socket: WorkerSocket): LiveSocket {
  let isOpen = true;
  const end = (): void => {
    if (!isOpen) return;
    isOpen = false;
    // The answer to a close of the client; where the runtime has given it already there is nothing to do.
    socket.close();
  };
  socket.addEventListener('close', end);
  socket.addEventListener('error', end);
  return {
    tellsTaken: false,
    send(frame) {
      if (isOpen) socket.send(frame);
    },
    close(code, reason) {
      if (!isOpen) return;
      isOpen = false;
      socket.close(code, reason);
    },
  };
}
