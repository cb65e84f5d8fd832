import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { openNodeSocket } from './node-live-socket.ts';

test('pings are answered unless the client reads nothing', () => {
  const pongs: string[] = [];
  const given = {
    bufferedAmount: 0,
    pong: (data: string) => pongs.push(data),
    send: () => undefined,
    close: () => undefined,
  };
  const webSocket = Object.assign(new EventEmitter(), given);
  const ignore = (): void => undefined;
  const events = { message: ignore, taken: ignore, pong: ignore, closed: ignore, ended: Promise.resolve() };
  const admission = { protocol: undefined, open: () => events };
  openNodeSocket(webSocket as unknown as WebSocket, admission);
  webSocket.emit('ping', 'a');
  webSocket.bufferedAmount = 1_000_000;
  webSocket.emit('ping', 'b');
  webSocket.bufferedAmount = 0;
  webSocket.emit('ping', 'c');
  expect(pongs).toEqual(['a', 'c']);
});
