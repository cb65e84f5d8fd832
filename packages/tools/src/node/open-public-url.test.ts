import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadWebPage } from '../built-in/load-web-page.ts';
import { isPublicAddress } from '../built-in/public-address.ts';
import { AddressRefusedError } from '../errors.ts';
import { openPublicUrl, PublicClient, type Resolve } from './open-public-url.ts';

const { signal } = new AbortController();
let visits: string[];
/** The location to which `/away` redirects. */
let target: string;
let server: ReturnType<typeof createServer>;
let url: string;

beforeEach(async () => {
  visits = [];
  server = createServer((request, response) => {
    visits.push(request.url ?? '');
    if (request.url === '/gone') response.writeHead(204).end();
    else if (request.url === '/robots') response.writeHead(999).end('no robots');
    else if (request.url === '/half') writeHalf(response);
    else if (request.url === '/away') response.writeHead(302, { location: target }).end();
    else response.setHeader('content-type', 'text/plain').end('hello');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://pages.example.com:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** Writes a part of a page, without its length. */
function writeHalf(response: ServerResponse): void {
  response.useChunkedEncodingByDefault = false;
  response.setHeader('content-type', 'text/plain').write('first half');
}

/** Resolves every name to these addresses, and records the names. */
function resolver(...addresses: string[]) {
  const names: string[] = [];
  const resolve: Resolve = async (name) => {
    names.push(name);
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return { names, resolve };
}

/** A client that considers this machine part of the internet. */
const open = new PublicClient(resolver('127.0.0.1').resolve, () => true);

test('openPublicUrl connects to the address that was checked, and resolves the name once', async () => {
  const { names, resolve } = resolver('127.0.0.1');
  const client = new PublicClient(resolve, () => true);
  const response = await client.open(`${url}/a?b`, signal);
  expect([response.status, await response.text(), names, visits]).toEqual([
    200,
    'hello',
    ['pages.example.com'],
    ['/a?b'],
  ]);
});

test.each([[['127.0.0.1']], [['::1']], [['93.184.215.14', '10.0.0.1']], [['::ffff:127.0.0.1']], [[]]])(
  'openPublicUrl refuses a name that resolves to %j, without a connection',
  async (addresses) => {
    const client = new PublicClient(resolver(...addresses).resolve, isPublicAddress);
    await expect(client.open(url, signal)).rejects.toThrow(
      new AddressRefusedError('the host pages.example.com is not public'),
    );
    await expect(client.check(url)).rejects.toThrow(AddressRefusedError);
    expect(visits).toEqual([]);
  },
);

test('openPublicUrl refuses an address without resolving anything', async () => {
  const { names, resolve } = resolver('127.0.0.1');
  await expect(new PublicClient(resolve).open(url.replace('pages.example.com', '127.0.0.1'), signal)).rejects.toThrow(
    'the host 127.0.0.1 is not public',
  );
  expect(names).toEqual([]);
});

test('openPublicUrl refuses the host name of this machine', async () => {
  await expect(openPublicUrl(url.replace('pages.example.com', 'localhost'), signal)).rejects.toThrow(
    AddressRefusedError,
  );
  expect(visits).toEqual([]);
});

test('a response without a body has no body', async () => {
  const response = await open.open(`${url}/gone`, signal);
  expect([response.status, response.body]).toEqual([204, null]);
});

test('a page that answers with status 101 cannot be read', async () => {
  const closed = Promise.withResolvers<string>();
  server.on('upgrade', (_request, socket) => {
    socket.once('close', () => closed.resolve('closed')).on('error', () => {});
    socket.once('end', () => socket.destroy()).resume();
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nabc');
  });
  const text = await loadWebPage(`${url}/a`, {
    open: (page, abort) => open.open(page, abort, { headers: { connection: 'upgrade', upgrade: 'h2c' } }),
  });
  expect(text).toBe(`Failed to fetch url: ${url}/a (it answered with HTTP status 101)`);
  expect(await closed.promise).toBe('closed');
});

test('a page that answers with status 999 cannot be read', async () => {
  const text = await loadWebPage(`${url}/robots`, { open: (page, abort) => open.open(page, abort) });
  expect(text).toBe(`Failed to fetch url: ${url}/robots (it answered with HTTP status 999)`);
});

test('a page that is aborted after a part of its body cannot be read', async () => {
  const controller = new AbortController();
  const text = await loadWebPage(`${url}/half`, {
    signal: controller.signal,
    open: async (page, abort) => {
      const response = await open.open(page, abort);
      controller.abort();
      return response;
    },
  });
  expect(text).toBe(`Failed to fetch url: ${url}/half (The operation was aborted)`);
});

test.each(['169.254.169.254', '0.0.0.0'])('a redirect to the internal address %s is refused', async (host) => {
  target = `http://${host}:${new URL(url).port}/`;
  const text = await loadWebPage(`${url}/away`, {
    open: (page, abort) => (page.startsWith(url) ? open.open(page, abort) : openPublicUrl(page, abort)),
  });
  expect(text).toBe(`Failed to fetch url: ${url}/away (the host ${host} is not public)`);
  expect(visits).toEqual(['/away']);
});

test('an abort ends the request', async () => {
  const controller = new AbortController();
  controller.abort();
  await expect(open.open(url, controller.signal)).rejects.toThrow('aborted');
  expect(visits).toEqual([]);
});
