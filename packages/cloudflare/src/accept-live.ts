import type { LiveAdmission, LiveGate, LiveSocket } from '@eventloom/server';

/** The members of a Worker's WebSocket that live runs use. */
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
 * Upgrades a request for a live run to a WebSocket and serves the run over it.
 * @param onCall called when the live run starts, with a promise that settles when it ends
 */
export async function acceptLive(
  request: Request,
  gate: LiveGate,
  onCall?: (ended: Promise<void>) => void,
): Promise<Response> {
  return openPair(await gate.admit(request), onCall);
}

/** Opens a WebSocket for an admitted live run, and returns the response that carries its other end. */
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

/** The runtime sends no pings, does not report how much is buffered, and cannot pause a client: the optional members are absent. */
function toLiveSocket(socket: WorkerSocket): LiveSocket {
  let isOpen = true;
  const end = (): void => {
    if (!isOpen) return;
    isOpen = false;
    // Completes the close handshake that the client started; does nothing if the runtime already has.
    socket.close();
  };
  socket.addEventListener('close', end);
  socket.addEventListener('error', end);
  return {
    reportsTaken: false,
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
