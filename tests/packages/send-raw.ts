import { connect } from 'node:net';

/** The response to bytes that were sent unchanged. */
export interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

/** Sends raw bytes to a server on this machine, and reads until the connection ends, which the request must ask for. */
export function sendRaw(origin: string, bytes: string): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  let answer = '';
  const socket = connect(Number(new URL(origin).port), '127.0.0.1', () => socket.write(bytes, 'latin1'));
  socket.on('data', (data) => (answer += data.toString('latin1')));
  socket.on('error', reject);
  socket.on('close', () => {
    const [head = '', body = ''] = answer.split(/\r\n\r\n(.*)/s, 2);
    resolve({ status: Number(head.split(' ')[1]), body });
  });
  return promise;
}
