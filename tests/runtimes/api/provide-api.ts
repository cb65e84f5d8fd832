import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of an API that returns the requests that it receives, for tests that cannot run a server: see `provideApi`. */
    readonly api: string;
  }
}

/**
 * Provides tests, including those in workerd, with an API on 127.0.0.1:
 *
 * - `/echo/…` answers with the request as JSON: `method`, `url`, `headers`, and `body` as text.
 * - `/raw?status&type&body&base64&location&size` answers with these; `size` is a number of bytes.
 * - `/stall?key` sends the beginning of a body and no end. `/stalled?key` answers once it has done so, and `/closed?key` once the client
 *   has closed that connection.
 * - `/protected?token` answers like `/echo`, and with 401 without this bearer token.
 * - `/token` is a token endpoint: the token names the grant and its parameters. The code `bad` and the refresh token `bad` are refused.
 * - `/openid` is a document of OpenID Connect.
 * - `/once?key&status` answers with the status the first time, and like `/echo` after that.
 */
export default async function provideApi(project: TestProject): Promise<() => Promise<void>> {
  const moments = new Map<string, PromiseWithResolvers<void>>();
  const seen = new Set<string>();
  const momentOf = (name: string) => {
    const known = moments.get(name) ?? Promise.withResolvers<void>();
    moments.set(name, known);
    return known;
  };
  const server = createServer((request, response) => void answer(request, response));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const key = searchParams.get('key') ?? '';
    const status = Number(searchParams.get('status') ?? 200);
    switch (pathname) {
      case '/raw': {
        const location = searchParams.get('location');
        const size = searchParams.get('size');
        const base64 = searchParams.get('base64');
        response.writeHead(status, {
          'content-type': searchParams.get('type') ?? 'application/json',
          'set-cookie': 'session=secret',
          'x-total': '7',
          ...(location !== null && { location }),
        });
        if (size !== null) response.end('x'.repeat(Number(size)));
        else response.end(base64 === null ? (searchParams.get('body') ?? '') : Buffer.from(base64, 'base64'));
        return;
      }
      case '/stall':
        response.once('close', () => momentOf(`/closed ${key}`).resolve());
        response.writeHead(200, { 'content-type': 'application/json' }).write('{');
        momentOf(`/stalled ${key}`).resolve();
        return;
      case '/stalled':
      case '/closed':
        await momentOf(`${pathname} ${key}`).promise;
        response.end();
        return;
      case '/protected':
        if (request.headers.authorization !== `Bearer ${searchParams.get('token')}`) {
          response.writeHead(401).end();
          return;
        }
        break;
      case '/token':
        await giveToken(request, response);
        return;
      case '/openid': {
        const own = `http://${request.headers.host}`;
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ authorization_endpoint: `${own}/consent`, token_endpoint: `${own}/token` }));
        return;
      }
      case '/once':
        if (!seen.has(key)) {
          seen.add(key);
          response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
          return;
        }
    }
    await echo(request, response);
  }

  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  project.provide('api', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.closeAllConnections();
    server.close();
  };
}

async function giveToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const form = new URLSearchParams(await readText(request));
  const grant = form.get('grant_type') ?? '';
  const given = form.get('code') ?? form.get('refresh_token') ?? form.get('client_secret') ?? '';
  response.setHeader('content-type', 'application/json');
  if (given === 'bad') {
    response.writeHead(400).end(JSON.stringify({ error: 'invalid_grant', error_description: 'not this one' }));
    return;
  }
  const verifier = form.get('code_verifier');
  const digest = verifier === null ? '' : createHash('sha256').update(verifier).digest('base64url');
  const accessToken = [grant, given, form.get('client_id'), form.get('scope'), digest].filter(Boolean).join('|');
  const refreshToken = grant === 'authorization_code' ? 'renewable' : undefined;
  response.end(JSON.stringify({ access_token: accessToken, refresh_token: refreshToken, expires_in: 3600 }));
}

async function readText(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('latin1');
}

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url, headers } = request;
  const body = await readText(request);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ method, url, headers, body }));
}
