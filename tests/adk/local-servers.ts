import { createServer, type RequestListener, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** Answers requests to an MCP server with a tool `add`, a tool `fail` and a resource `rules`, without sessions. */
export async function fetchMcp(url: string | URL, init?: RequestInit): Promise<Response> {
  const server = new McpServer({ name: 'numbers', version: '1' });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  server.registerTool('add', { description: 'Adds.', inputSchema }, ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }));
  server.registerTool('fail', { description: 'Fails.' }, () => ({
    isError: true,
    content: [{ type: 'text', text: 'it is broken' }],
  }));
  server.registerResource('rules', 'memo://rules', { mimeType: 'text/plain' }, () => ({
    contents: [{ uri: 'memo://rules', text: 'Round up.' }],
  }));
  const transport = new WebStandardStreamableHTTPServerTransport({});
  await server.connect(transport);
  return transport.handleRequest(new Request(url, init));
}

/** A server on a port of this machine. */
interface LocalServer extends AsyncDisposable {
  readonly url: string;
}

/** Serves what `fetchMcp` does. Requests without these headers are refused. */
export async function serveMcp(headers: Readonly<Record<string, string>>): Promise<LocalServer> {
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const isAllowed = Object.entries(headers).every(([name, value]) => request.headers[name] === value);
      const { method = 'GET', url = '/' } = request;
      const init = { method, headers: request.headers as Record<string, string>, ...(body && { body }) };
      const answer = isAllowed ? await fetchMcp(`http://127.0.0.1${url}`, init) : new Response('no', { status: 403 });
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
    });
  });
  return listen(server);
}

/** A server that gets the listener of its requests after it has started. */
interface LaterServer extends LocalServer {
  readonly port: number;
  listen(listener: RequestListener): void;
}

/** Starts a server whose address the listener of its requests needs. */
export async function serveLater(): Promise<LaterServer> {
  const server = createServer();
  const local = await listen(server);
  return { ...local, port: Number(new URL(local.url).port), listen: (listener) => void server.on('request', listener) };
}

async function listen(server: Server): Promise<LocalServer> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A REST API with pets, on a port of this machine. */
export interface PetApi extends LocalServer {
  readonly document: string;
}

/** Starts a REST API with pets, and returns it with its OpenAPI document. */
export async function servePets(): Promise<PetApi> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url = '', headers } = request;
      const found = url !== '/pets/missing';
      const answer = found
        ? { method, url, locale: headers['accept-language'], ...(body && { body: JSON.parse(body) }) }
        : { reason: 'no such pet' };
      response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  const local = await listen(server);
  return { ...local, document: JSON.stringify(petDocument(local.url)) };
}

function petDocument(url: string): object {
  const petId = { name: 'petId', in: 'path', required: true, schema: { type: 'string' } };
  const withToys = { name: 'withToys', in: 'query', schema: { type: 'boolean' } };
  const pet = {
    type: 'object',
    required: ['petName'],
    properties: { petName: { type: 'string' }, age: { type: 'integer' } },
  };
  const responses = { 200: { description: 'Done.', content: { 'application/json': { schema: { type: 'object' } } } } };
  return {
    openapi: '3.0.3',
    info: { title: 'Pets', version: '1' },
    servers: [{ url }],
    components: { schemas: { Pet: pet } },
    paths: {
      '/pets/{petId}': {
        get: { operationId: 'getPet', summary: 'Returns a pet.', parameters: [petId, withToys], responses },
      },
      '/pets': {
        post: {
          operationId: 'addPet',
          summary: 'Adds a pet.',
          requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } },
          responses,
        },
      },
    },
  };
}
