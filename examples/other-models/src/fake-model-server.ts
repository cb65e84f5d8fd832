import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A reply of the fake: a text, a call of a tool, or the status of a failure. */
export type FakeReply = string | { readonly name: string; readonly args: object } | number;

/** A server on this machine that speaks OpenAI's protocol from a script, one reply for each request. */
export interface FakeModelServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a fake on a free port. */
export async function openFakeModelServer(replies: readonly FakeReply[]): Promise<FakeModelServer> {
  const left = [...replies];
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      const reply = left.shift() ?? 503;
      if (typeof reply === 'number') {
        response.writeHead(reply, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: 'The server is overloaded.' } }));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const chunk of chunksOf(reply)) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      response.end('data: [DONE]\n\n');
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      return closed.promise;
    },
  };
}

function chunksOf(reply: string | { readonly name: string; readonly args: object }): object[] {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  });
  if (typeof reply === 'string')
    return [...reply.split(/(?<= )/).map((content) => chunk({ content })), chunk({}, 'stop')];
  const { name, args } = reply;
  const call = { index: 0, id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(args) } };
  return [chunk({ tool_calls: [call] }), chunk({}, 'tool_calls')];
}
