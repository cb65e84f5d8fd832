import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type FakeGeminiReply,
  type FakeGeminiRequest,
  FakeGeminiServer,
  type FakeLiveScript,
} from '@eventloom/testing/fake-gemini';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the server that starts fake Gemini servers for tests that cannot run one, see `provideFakeGemini`. */
    readonly fakeGemini: string;
  }
}

/**
 * Provides tests in workerd with fake Gemini servers, which need Node. POST scripts of live connections, as JSON, to
 * start one: the answer is its `url`. PUT replies to `?url=` to add them to its script; GET `?url=` returns the
 * requests so far, once there are `&count=` of them, with `&ended` once these have ended; with `&live` it answers once the
 * first live connection has sent its setup. DELETE `?url=` stops the
 * server, and returns the messages of its connections, or the fault of its script.
 */
export default async function provideFakeGemini(project: TestProject): Promise<() => Promise<void>> {
  const servers = new Map<string, FakeGeminiServer>();
  const http = createServer((incoming, response) => {
    void answerTo(incoming).then((answer) => response.end(JSON.stringify(answer)));
  });

  async function answerTo(incoming: IncomingMessage): Promise<object> {
    if (incoming.method === 'POST') return start((await readJson(incoming)) as FakeLiveScript[]);
    const query = new URL(incoming.url ?? '', 'http://localhost').searchParams;
    const url = query.get('url') ?? '';
    const server = servers.get(url);
    if (!server) return { fault: `there is no server at ${url}` };
    if (incoming.method === 'DELETE') return stop(server);
    if (incoming.method === 'GET' && query.has('live')) return setupOf(server);
    if (incoming.method === 'GET') return requestsOf(server, Number(query.get('count')), query.has('ended'));
    server.enqueue(...((await readJson(incoming)) as FakeGeminiReply[]));
    return {};
  }

  async function setupOf(server: FakeGeminiServer): Promise<object> {
    const connection = await server.live.connection(0);
    await connection.heard('setup');
    return {};
  }

  async function start(scripts: readonly FakeLiveScript[]): Promise<object> {
    const server = await FakeGeminiServer.start();
    server.live.enqueue(...scripts);
    servers.set(server.url, server);
    return { url: server.url };
  }

  async function stop(server: FakeGeminiServer): Promise<object> {
    servers.delete(server.url);
    await server.close();
    try {
      server.assertConsumed();
    } catch (error) {
      return { fault: String(error) };
    }
    return {
      connections: await Promise.all(
        server.live.connections.map(async ({ path, headers, setup, received, closed }) => {
          return { path, headers, setup, received, closed: await closed };
        }),
      ),
    };
  }

  const { promise, resolve } = Promise.withResolvers<void>();
  http.listen(0, '127.0.0.1', resolve);
  await promise;
  project.provide('fakeGemini', `http://127.0.0.1:${(http.address() as AddressInfo).port}`);
  return async () => {
    for (const server of servers.values()) await server.close();
    http.close();
    http.closeAllConnections();
  };
}

async function requestsOf(server: FakeGeminiServer, count: number, isEnded: boolean): Promise<FakeGeminiRequest[]> {
  if (count > 0) await server.request(count - 1);
  if (isEnded) for (const { ended } of server.requests.slice(0, count)) await ended;
  return [...server.requests];
}

async function readJson(incoming: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const piece of incoming.setEncoding('utf8')) text += piece as string;
  return JSON.parse(text);
}
