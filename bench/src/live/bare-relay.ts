import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemPlatform } from '@eventloom/core';
import { type WebSocket, WebSocketServer } from 'ws';
import { notingClient } from './noting-client.ts';

/** The part of the service's messages that is relayed. */
interface Part {
  readonly inlineData?: { readonly data?: string; readonly mimeType?: string };
}

/** A listening server, and the function that ends it. */
export interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The baseline of a server: each WebSocket has a connection of the bare client, each piece of speech becomes a handwritten event, without a
 * run. The path is the model's name; with `?audio=binary` audio is sent in binary frames.
 */
export async function startBareRelay(
  geminiUrl: string,
  onFrame: (model: string, atMs: number) => void,
  onConnected: () => void,
): Promise<Listening> {
  const http = createServer();
  const sockets = new WebSocketServer({ server: http, perMessageDeflate: false });
  sockets.on('connection', (socket, { url = '' }) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const model = pathname.slice(1);
    const isBinary = searchParams.get('audio') === 'binary';
    const invocationId = `e-${systemPlatform.newUuid()}`;
    const client = notingClient(geminiUrl, (atMs) => onFrame(model, atMs));
    const connecting = client.live.connect({
      model,
      callbacks: {
        onmessage: ({ serverContent }) => {
          for (const part of serverContent?.modelTurn?.parts ?? []) passOn(socket, invocationId, part, isBinary);
        },
      },
    });
    void connecting.then(onConnected);
    socket.on('close', () => void connecting.then((session) => session.close()));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}`,
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

function passOn(socket: WebSocket, invocationId: string, part: Part, isBinary: boolean): void {
  const { data = '', ...inlineData } = part.inlineData ?? {};
  if (isBinary) socket.send(Buffer.from(data, 'base64'));
  const event = {
    id: systemPlatform.newEventId(),
    invocationId,
    author: 'agent',
    timestamp: systemPlatform.now() / 1000,
    content: { role: 'model', parts: [isBinary ? { inlineData } : part] },
    actions: { stateDelta: {}, artifactDelta: {} },
  };
  socket.send(JSON.stringify(event));
}
