import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

const ORDER = {
  type: 'object',
  required: ['item', 'count'],
  properties: { item: { type: 'string' }, count: { type: 'integer', minimum: 1, maximum: 100 } },
};

/** The document of the API. */
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Warehouse', version: '1' },
  security: [{ key: [] }],
  components: {
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
    schemas: { Order: ORDER },
  },
  paths: {
    '/items/{item}': {
      get: {
        operationId: 'getItem',
        summary: 'Returns how many of an item are in stock.',
        parameters: [{ name: 'item', in: 'path', required: true, schema: { type: 'string' } }],
        responses: { 200: { description: 'The stock.' }, 404: { description: 'There is no such item.' } },
      },
    },
    '/orders': {
      post: {
        operationId: 'createOrder',
        summary: 'Orders more of an item.',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } },
        },
        responses: { 201: { description: 'The order.' } },
      },
    },
  },
};

/** A running API. */
export interface Warehouse {
  readonly url: string;
  /** The bodies of the accepted orders. */
  readonly orders: readonly unknown[];
  close(): Promise<void>;
}

/** Starts the API on a free port of this machine. */
export async function openWarehouse(): Promise<Warehouse> {
  const stock: Readonly<Record<string, number>> = { lamp: 4, chair: 0 };
  const orders: unknown[] = [];

  async function answer(request: IncomingMessage): Promise<readonly [status: number, body: unknown]> {
    const { method = '', url = '', headers } = request;
    if (url === '/openapi.json') return [200, DOCUMENT];
    if (headers['x-api-key'] !== 'warehouse-key') return [401, { error: 'the key is wrong' }];
    const item = /^\/items\/(\w+)$/.exec(url)?.[1];
    if (method === 'GET' && item !== undefined && Object.hasOwn(stock, item))
      return [200, { item, count: stock[item] }];
    if (method !== 'POST' || url !== '/orders') return [404, { error: 'there is no such thing' }];
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += String(piece);
    orders.push(JSON.parse(text));
    return [201, { order: orders.length }];
  }

  const server = createServer((request, response) => {
    const send = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    answer(request).then(
      ([status, body]) => send(status, body),
      () => send(400, { error: 'the body is not JSON' }),
    );
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    orders,
    close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      return closed.promise;
    },
  };
}
