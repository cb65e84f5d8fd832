import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeGeminiServer, type FakeLiveScript } from '@eventloom/testing/fake-gemini';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where fake Gemini servers are started for tests that cannot run one, see `provideFakeGemini`. */
    readonly fakeGemini: string;
  }
}

/**
 * Gives tests that run in workerd fake Gemini servers, which need node. POST scripts of live connections, as JSON, to start one: the
 * answer is its `url`. DELETE `?url=` stops it: the answer is what its connections were sent, or its fault.
 */
export default async function provideFakeGemini(project: TestProject): Promise<() => Promise<void>> {
  const servers = new Map<string, FakeGeminiServer>();
  const http = createServer((request, response) => {
    void (async () => {
      const answer = request.method === 'POST' ? await start(request) : await stop(request);
      response.end(JSON.stringify(answer));
    })();
  });

  async function start(request: IncomingMessage): Promise<object> {
    const server = await FakeGeminiServer.start();
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece as string;
    server.live.enqueue(...(JSON.parse(text) as FakeLiveScript[]));
    servers.set(server.url, server);
    return { url: server.url };
  }

  async function stop(request: IncomingMessage): Promise<object> {
    const url = new URL(request.url ?? '', 'http://localhost').searchParams.get('url') ?? '';
    const server = servers.get(url);
    if (!server) return { fault: `there is no server at ${url}` };
    servers.delete(url);
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
