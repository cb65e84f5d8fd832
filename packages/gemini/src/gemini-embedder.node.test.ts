import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { GeminiEmbedder } from './gemini-embedder.ts';

interface Batch {
  readonly requests: readonly { readonly content: { readonly parts: readonly { readonly text: string }[] } }[];
}

const KEY = 'AIza-secret-key-0123456789';

let server: Server | undefined;
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

/** A service that sends what `reply` returns for the texts of a request, and the sizes of the requests. */
async function serve(reply: (texts: readonly string[]) => { readonly status?: number; readonly body: object }) {
  const sizes: number[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { requests } = (await json(request)) as Batch;
    const texts = requests.map(({ content }) => content.parts[0]?.text ?? '');
    sizes.push(texts.length);
    const { status = 200, body } = reply(texts);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { sizes, embedder: new GeminiEmbedder({ apiKey: KEY, baseUrl, retry: { attempts: 1 } }) };
}

const lengths = (texts: readonly string[]) => ({
  body: { embeddings: texts.map((text) => ({ values: [text.length] })) },
});

test('texts are sent in requests of 100, and their vectors come in the same order', async () => {
  const { sizes, embedder } = await serve(lengths);
  const texts = Array.from({ length: 205 }, (_, at) => 'x'.repeat(at));
  expect(await embedder.embed(texts, 'document')).toEqual(texts.map((_, at) => [at]));
  expect(sizes).toEqual([100, 100, 5]);
});

test('an error of the service is a ModelError that does not show the key', async () => {
  const error = { code: 429, status: 'RESOURCE_EXHAUSTED', message: `Too many requests for ${KEY}.` };
  const { embedder } = await serve(() => ({ status: 429, body: { error } }));
  await expect(embedder.embed(['a'], 'query')).rejects.toMatchObject({
    code: 'MODEL',
    errorCode: 'RESOURCE_EXHAUSTED',
    message: expect.not.stringContaining(KEY),
  });
});

test('fewer vectors than texts are an error', async () => {
  const { embedder } = await serve(() => lengths(['a']));
  await expect(embedder.embed(['a', 'b'], 'document')).rejects.toThrow('sent 1 vectors for 2 texts');
});

test('an abort ends the request', async () => {
  const abort = new AbortController();
  const { embedder } = await serve((texts) => (abort.abort(), lengths(texts)));
  await expect(embedder.embed(['a'], 'query', abort.signal)).rejects.toMatchObject({ code: 'RUN_ABORTED' });
});

test('a missing key, an empty model and an unknown option are refused', () => {
  expect(() => new GeminiEmbedder({ apiKey: 'k', model: '' })).toThrow('GeminiEmbedder: model is an empty string');
  expect(() => new GeminiEmbedder({})).toThrow('apiKey is missing');
  expect(() => new GeminiEmbedder({ apiKey: 'k', modell: 'm' } as never)).toThrow('did you mean "model"?');
});
