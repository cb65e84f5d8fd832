import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { ConfigurationError, StorageError } from '@eventloom/core';
import { fixedPlatform } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { artifactServiceConformance } from '../conformance/index.ts';
import { FakeGcs, failure } from './fixtures/fake-gcs.ts';
import { GcsArtifactService, type GcsArtifactServiceOptions } from './gcs-artifact-service.ts';

const KEY = { appName: 'app', userId: 'ann@example.com', sessionId: 's', filename: 'notes/a.txt' };

/** Starts the fake service on a port of this machine. */
async function serving(fake = new FakeGcs()) {
  const server = createServer((incoming, outgoing) => {
    void toRequest(incoming)
      .then((request) => fake.answer(request))
      .then(async (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers));
        outgoing.end(Buffer.from(await response.arrayBuffer()));
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  const open = (options: Partial<GcsArtifactServiceOptions> = {}) =>
    new GcsArtifactService({ bucket: 'files', endpoint, platform: fixedPlatform(), ...options });
  return { fake, endpoint, close, open, [Symbol.dispose]: close };
}

async function toRequest(incoming: IncomingMessage): Promise<Request> {
  const { method = 'GET', url = '/', headers } = incoming;
  const body = method === 'POST' ? await buffer(incoming) : undefined;
  const sent = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Request(`http://127.0.0.1${url}`, { method, headers: sent, ...(body && { body: new Uint8Array(body) }) });
}

describe('GcsArtifactService keeps the contract', () => {
  const cases = artifactServiceConformance(async ({ platform }) => {
    const { open, close } = await serving();
    return { service: open({ platform }), close };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

test('objects have the names, types and fields of the ADK', async () => {
  using server = await serving();
  const service = server.open();
  await service.saveArtifact({ ...KEY, artifact: { text: 'Grüße' } });
  const inlineData = { data: 'AAEC', mimeType: 'image/png', displayName: 'a.png' };
  await service.saveArtifact({ ...KEY, filename: 'user:a.png', artifact: { inlineData } });
  await service.saveArtifact({ ...KEY, artifact: { fileData: { fileUri: 'gs://b/c', mimeType: 'image/png' } } });
  const stored = Array.from(server.fake.objects, ([name, { contentType, metadata, body }]) => {
    const ofAdk = Object.entries(metadata).filter(([key]) => key !== 'eventloom');
    return { name, contentType, metadata: Object.fromEntries(ofAdk), body: new TextDecoder().decode(body) };
  });
  expect(stored).toEqual([
    {
      name: 'app/ann@example.com/s/notes/a.txt/0',
      contentType: 'text/plain',
      metadata: { adkIsText: 'true' },
      body: 'Grüße',
    },
    {
      name: 'app/ann@example.com/user/a.png/0',
      contentType: 'image/png',
      metadata: { adkDisplayName: 'a.png' },
      body: '\0\u0001\u0002',
    },
    {
      name: 'app/ann@example.com/s/notes/a.txt/1',
      contentType: 'image/png',
      metadata: { adkFileUri: 'gs://b/c', adkFileMimeType: 'image/png' },
      body: '',
    },
  ]);
});

test('parts that the ADK saved are read', async () => {
  using server = await serving();
  const { fake } = server;
  const body = new TextEncoder().encode('hello');
  fake.put('app/u/s/a/0', { contentType: 'text/plain', metadata: { adkIsText: 'true', stage: 'draft' }, body });
  fake.put('app/u/s/a/1', { contentType: 'text/plain', metadata: {}, body });
  fake.put('app/u/s/a/2', { contentType: 'text/plain', metadata: { adkDisplayName: 'a.txt' }, body });
  fake.put('app/u/s/a/3', { contentType: 'image/png', metadata: {}, body });
  fake.put('app/u/s/a/4', { contentType: 'image/png', metadata: { adkFileUri: 'gs://b/c' }, body: new Uint8Array() });
  const service = server.open();
  const key = { appName: 'app', userId: 'u', sessionId: 's', filename: 'a' };
  const parts = await Promise.all([0, 1, 2, 3, 4].map((version) => service.loadArtifact({ ...key, version })));
  const data = btoa('hello');
  expect(parts).toEqual([
    { text: 'hello' },
    { text: 'hello' },
    { inlineData: { data, mimeType: 'text/plain', displayName: 'a.txt' } },
    { inlineData: { data, mimeType: 'image/png' } },
    { fileData: { fileUri: 'gs://b/c', mimeType: 'image/png' } },
  ]);
  expect(await service.getArtifactVersion({ ...key, version: 0 })).toMatchObject({
    mimeType: 'text/plain',
    createTime: 0,
    customMetadata: { stage: 'draft' },
  });
  expect(await service.saveArtifact({ ...key, artifact: { text: 'x' } })).toBe(5);
});

test.each([
  ['metadata that is larger than that of an object', { note: 'x'.repeat(10_000) }, 'text'],
  ['metadata of other alphabets', { note: '名'.repeat(2000) }, 'text'],
  ['text with half a character', { note: 'x' }, 'a\ud800b'],
])('a version keeps %s', async (_, customMetadata, text) => {
  using server = await serving();
  const service = server.open();
  await service.saveArtifact({ ...KEY, artifact: { text }, customMetadata });
  expect(await service.loadArtifact(KEY)).toEqual({ text });
  expect(await service.getArtifactVersion(KEY)).toMatchObject({ customMetadata });
  expect(await service.listArtifactVersions(KEY)).toMatchObject([{ customMetadata }]);
});

test('no two saves get the same number, also if another process saves or deletes between their requests', async () => {
  using server = await serving();
  const { fake } = server;
  const [service, other] = [server.open(), server.open()];
  const versions = await Promise.all(
    [1, 2, 3].flatMap(() => [service, other]).map((each) => each.saveArtifact({ ...KEY, artifact: { text: 'x' } })),
  );
  expect(versions.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
  // Deleted after the save has listed the versions, and before it writes its own.
  let isDeleted = false;
  fake.onRequest = (request) => {
    if (isDeleted || !request.startsWith('POST')) return;
    isDeleted = true;
    for (const name of fake.objects.keys()) if (name.startsWith('app/')) fake.objects.delete(name);
    fake.put('%deleted/app/ann@example.com/s/notes/a.txt/', {
      contentType: 'text/plain',
      metadata: { floor: '9' },
      body: new Uint8Array(),
    });
  };
  expect(await service.saveArtifact({ ...KEY, artifact: { text: 'x' } })).toBe(9);
  expect(await service.listVersions(KEY)).toEqual([9]);
});

test('a deletion hides all versions before the first object is removed', async () => {
  using server = await serving();
  const { fake } = server;
  const service = server.open();
  for (const text of ['a', 'b', 'c']) await service.saveArtifact({ ...KEY, artifact: { text } });
  const kept = new Map(fake.objects);
  await service.deleteArtifact(KEY);
  // As if the process had been lost before it removed them.
  for (const [name, object] of kept) fake.objects.set(name, object);
  expect(await service.listVersions(KEY)).toEqual([]);
  expect(await service.listArtifactVersions(KEY)).toEqual([]);
  expect(await service.listArtifactKeys(KEY)).toEqual([]);
  expect(await service.loadArtifact(KEY)).toBeUndefined();
  expect(await service.loadArtifact({ ...KEY, version: 1 })).toBeUndefined();
});

test.each<[Partial<typeof KEY>, Partial<typeof KEY>]>([
  [
    { sessionId: 'user', filename: 'a' },
    { sessionId: 's', filename: 'user:a' },
  ],
  [
    { appName: 'a/b', userId: 'c' },
    { appName: 'a', userId: 'b/c' },
  ],
  [
    { sessionId: 's/a', filename: 'b' },
    { sessionId: 's', filename: 'a/b' },
  ],
  [{ sessionId: 'x'.repeat(200) }, { sessionId: `${'x'.repeat(199)}y` }],
  [{ filename: 'a%2Fb' }, { filename: 'a/b' }],
])('%o and %o are different artifacts', async (one, another) => {
  using server = await serving();
  const service = server.open();
  await service.saveArtifact({ ...KEY, ...one, artifact: { text: 'one' } });
  expect(await service.loadArtifact({ ...KEY, ...another })).toBeUndefined();
  expect(await service.listArtifactKeys({ ...KEY, ...one })).toEqual([one.filename ?? KEY.filename]);
});

test.each([
  '...',
  '0',
  'a/0',
  '.well-known/acme-challenge/x',
  'a\nb',
  '100%',
  '%~x',
  '名'.repeat(170),
  '%'.repeat(512),
])('an artifact may be called %j', async (filename) => {
  using server = await serving();
  const service = server.open();
  const key = { appName: '.'.repeat(200), userId: '名'.repeat(80), sessionId: '..', filename };
  await service.saveArtifact({ ...key, artifact: { text: filename } });
  expect(await service.loadArtifact(key)).toEqual({ text: filename });
  expect(await service.listArtifactKeys(key)).toEqual([filename]);
});

test('each request carries a token', async () => {
  using server = await serving();
  let count = 0;
  const service = server.open({ accessToken: () => `token-${count++}` });
  await service.saveArtifact({ ...KEY, artifact: { text: 'x' } });
  expect(new Set(server.fake.tokens)).toEqual(
    new Set(['Bearer token-0', 'Bearer token-1', 'Bearer token-2', 'Bearer token-3']),
  );
});

test('a request that gets no answer in time is a retryable error', async () => {
  const fetch = (_url: string, { signal }: RequestInit) =>
    new Promise<Response>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  const service = new GcsArtifactService({ bucket: 'files', fetch, timeoutMs: 10 });
  await expect(service.loadArtifact(KEY)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

test('a redirect is refused, because it would send the token to another host', async () => {
  using server = await serving();
  server.fake.refusals.push(new Response(null, { status: 302, headers: { location: `${server.endpoint}/elsewhere` } }));
  const saving = server.open({ accessToken: () => 'secret' }).saveArtifact({ ...KEY, artifact: { text: 'x' } });
  await expect(saving).rejects.toThrow(StorageError);
  expect(server.fake.requests.filter((request) => request.includes('elsewhere'))).toEqual([]);
});

test('a request to a busy service is repeated, and a refusal is an error that names the reason', async () => {
  using server = await serving();
  const platform = fixedPlatform();
  // All timers fire at once.
  platform.schedule = (_delay, work) => {
    work();
    return () => {};
  };
  const service = server.open({ platform });
  server.fake.refusals.push(failure(503, 'Backend Error'), failure(429, 'Slow down'));
  expect(await service.saveArtifact({ ...KEY, artifact: { text: 'x' } })).toBe(0);
  server.fake.refusals.push(failure(403, 'ann has no access'));
  await expect(service.listVersions(KEY)).rejects.toThrow(
    /^the bucket of artifacts is not available: .*403: ann has no access/,
  );
  server.fake.refusals.push(...Array.from({ length: 5 }, () => failure(503, 'Backend Error')));
  await expect(service.listVersions(KEY)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
});

test('a write that may have succeeded is not repeated', async () => {
  using server = await serving();
  const service = server.open();
  server.fake.onRequest = (request) => {
    if (request.startsWith('POST')) server.fake.refusals.push(failure(503, 'Backend Error'));
  };
  await expect(service.saveArtifact({ ...KEY, artifact: { text: 'x' } })).rejects.toThrow(StorageError);
  expect(server.fake.requests.filter((request) => request.startsWith('POST'))).toHaveLength(1);
});

test.each([
  [
    'no service at all',
    (service: GcsArtifactService) => service.listVersions(KEY),
    StorageError,
    { endpoint: 'http://127.0.0.1:1' },
  ],
  [
    'a bucket that does not exist',
    (service: GcsArtifactService) => service.loadArtifact({ ...KEY, version: 1 }),
    ConfigurationError,
    { bucket: 'other' },
  ],
] as const)('%s is an error with a code', async (_, work, errorClass, options) => {
  using server = await serving();
  await expect(work(server.open(options))).rejects.toThrow(errorClass);
});

test('an answer that is not one of Cloud Storage is an error', async () => {
  using server = await serving();
  for (const answer of ['<html>', '[]', '{"items":[{}]}', '{"items":{}}']) {
    server.fake.refusals.push(new Response(answer));
    await expect(server.open().listVersions(KEY)).rejects.toThrow('the answer is not one of Cloud Storage');
  }
});

test.each([
  [{ bucket: '' }, 'expected the name of a bucket'],
  [{ bucket: 'Big Bucket' }, 'expected the name of a bucket'],
  [{ bucket: 'files', endpoint: 'storage' }, 'expected a URL'],
])('%o is refused', (options, text) => {
  expect(() => new GcsArtifactService(options)).toThrow(text);
});
