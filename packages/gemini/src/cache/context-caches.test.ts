import { type CacheMetadata, type Content, type LlmRequest, type LlmResponse, createLlmRequest } from '@eventloom/core';
import { fixedPlatform } from '@eventloom/testing';
import { errorReply, type FakeGeminiReply, jsonReply, sseReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { DistantGemini } from '../fixtures/distant-gemini.ts';
import { Gemini, type GeminiOptions } from '../gemini.ts';

const server = DistantGemini.forEachTest();

const NOW = Date.UTC(2026, 0, 1) / 1000;
const TOOLS = [{ functionDeclarations: [{ name: 'look', description: 'Looks.' }] }];
const said = (role: string, text: string): Content => ({ role, parts: [{ text }] });

/** A model, and a conversation with this number of turns: turn 2 sends u1, a1, u2. */
function setUp(options: Partial<GeminiOptions> = {}) {
  const platform = fixedPlatform();
  const model = new Gemini({
    model: 'gemini-2.5-flash',
    apiKey: 'a-test-key',
    baseUrl: server.url,
    retry: { attempts: 1 },
    platform,
    ...options,
  });
  const ask = async (turn: number, request: Partial<LlmRequest> = {}, stream = false): Promise<LlmResponse> => {
    const contents = Array.from({ length: turn }, (_, index) => [
      said('user', `u${index + 1}`),
      said('model', `a${index + 1}`),
    ]);
    const responses: LlmResponse[] = [];
    const whole = {
      ...createLlmRequest(),
      contents: contents.flat().slice(0, -1),
      config: { systemInstruction: 'Be kind.', tools: TOOLS, temperature: 0.5 },
      cacheConfig: {},
      cacheableContentsTokenCount: 5000,
      ...request,
    };
    for await (const response of model.generateContentAsync(whole, stream)) responses.push(response);
    return responses.at(-1) ?? {};
  };
  return { ask, platform };
}

const metadataOf = ({ cacheMetadata }: LlmResponse): CacheMetadata => cacheMetadata as CacheMetadata;
const made: FakeGeminiReply = jsonReply({ name: 'cachedContents/c1', model: 'models/gemini-2.5-flash' });
const answer: FakeGeminiReply = jsonReply(wireResponse('Yes.'));

test('the first request does not create a cache, and returns the metadata of a possible one', async () => {
  await server.enqueue(answer);
  const { ask } = setUp();
  const response = await ask(1);
  expect(response.cacheMetadata).toEqual({ fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/), contentsCount: 1 });
  expect((await server.requests())[0]?.body).toHaveProperty('systemInstruction');
});

test("the second request creates a cache of its beginning, and is sent with the cache's name and the rest", async () => {
  await server.enqueue(answer, made, answer);
  const { ask } = setUp();
  const cacheMetadata = metadataOf(await ask(1));
  const response = await ask(2, { cacheMetadata });
  expect((await server.requests())[1]).toMatchObject({ path: '/v1beta/cachedContents', cachedContent: '' });
  expect((await server.requests())[1]?.body).toEqual({
    model: 'models/gemini-2.5-flash',
    contents: [said('user', 'u1'), said('model', 'a1')],
    systemInstruction: { role: 'user', parts: [{ text: 'Be kind.' }] },
    tools: TOOLS,
    ttl: '1800s',
  });
  expect((await server.requests())[2]?.path).toBe('/v1beta/models/gemini-2.5-flash:generateContent');
  expect((await server.requests())[2]?.body).toEqual({
    contents: [said('user', 'u2')],
    cachedContent: 'cachedContents/c1',
    generationConfig: { temperature: 0.5 },
  });
  expect(response.cacheMetadata).toEqual({
    fingerprint: expect.any(String),
    contentsCount: 2,
    cacheName: 'cachedContents/c1',
    createdAt: NOW,
    expireTime: NOW + 1800,
    invocationsUsed: 1,
  });
});

/** A model with a live cache of the first turn. */
async function withCache() {
  await server.enqueue(answer, made, answer);
  const { ask, platform } = setUp();
  const cacheMetadata = metadataOf(await ask(2, { cacheMetadata: metadataOf(await ask(1)) }));
  return { ask, platform, cacheMetadata };
}

test('a valid cache is reused, streamed or not', async () => {
  const { ask, cacheMetadata } = await withCache();
  await server.enqueue(sseReply([wireResponse('Yes.')]));
  const used = { ...cacheMetadata, invocationsUsed: 10 };
  expect((await ask(3, { cacheMetadata: used }, true)).cacheMetadata).toEqual(used);
  expect((await server.requests())[3]?.body).toMatchObject({
    cachedContent: 'cachedContents/c1',
    contents: [said('user', 'u2'), said('model', 'a2'), said('user', 'u3')],
  });
});

test('a cache that reached its number of uses is deleted and created again with the newer contents', async () => {
  const { ask, cacheMetadata } = await withCache();
  // The deletion runs in the background, so it may come before or after the other requests.
  const any = jsonReply({ ...wireResponse('Yes.'), name: 'cachedContents/c2' });
  await server.enqueue(any, any, any);
  const response = await ask(3, { cacheMetadata: { ...cacheMetadata, invocationsUsed: 11 } });
  expect(response.cacheMetadata).toMatchObject({
    cacheName: 'cachedContents/c2',
    contentsCount: 4,
    invocationsUsed: 1,
  });
  const deleted = (await server.requests(6)).filter(({ method }) => method === 'DELETE');
  expect(deleted.map(({ path }) => path)).toEqual(['/v1beta/cachedContents/c1']);
});

test('an expired cache is created again without a delete', async () => {
  const { ask, platform, cacheMetadata } = await withCache();
  platform.advance(1_800_000);
  await server.enqueue(made, answer);
  expect((await ask(3, { cacheMetadata })).cacheMetadata).toMatchObject({ createdAt: NOW + 1800 });
});

test.each<[string, Partial<LlmRequest>]>([
  ['another instruction', { config: { systemInstruction: 'Be brief.', tools: TOOLS } }],
  ['other tools', { config: { systemInstruction: 'Be kind.' } }],
  ['another beginning', { contents: [said('model', 'summary'), said('user', 'u3')] }],
  ['another model', { model: 'gemini-2.5-pro' }],
])('%s is not sent with the cache', async (_, change) => {
  const { ask, platform, cacheMetadata } = await withCache();
  await server.enqueue(answer, answer);
  const { cacheMetadata: after } = await ask(3, { cacheMetadata, ...change });
  expect(after).not.toHaveProperty('cacheName');
  expect((await server.requests(5)).filter(({ body }) => body['cachedContent'] !== undefined)).toHaveLength(1);
  await platform.drain();
});

test('a prompt of too small or unknown size is not cached', async () => {
  await server.enqueue(answer, answer, answer);
  const { ask } = setUp();
  const cacheMetadata = metadataOf(await ask(1));
  const small = await ask(2, { cacheMetadata, cacheConfig: { minTokens: 5001 } });
  expect(small.cacheMetadata).toMatchObject({ contentsCount: 3 });
  const { cacheableContentsTokenCount: _, ...unknown } = { ...createLlmRequest(), cacheMetadata };
  const contents = [said('user', 'u1'), said('model', 'a1'), said('user', 'u2')];
  const sized = await ask(2, { ...unknown, contents, cacheableContentsTokenCount: undefined as never });
  expect(sized.cacheMetadata).not.toHaveProperty('cacheName');
});

test('a failed cache creation is reported, the request is sent uncached, and the next attempt is delayed', async () => {
  const refused = errorReply({ code: 400, status: 'INVALID_ARGUMENT', message: 'too small' });
  await server.enqueue(answer, refused, answer, answer, made, answer);
  const { ask, platform } = setUp();
  const first = metadataOf(await ask(1));
  const second = metadataOf(await ask(2, { cacheMetadata: first }));
  expect(second).not.toHaveProperty('cacheName');
  await expect(platform.drain()).rejects.toThrow(expect.objectContaining({ errorCode: 'CONTEXT_CACHE' }));
  expect((await server.requests())[2]?.body).toHaveProperty('systemInstruction');
  const third = metadataOf(await ask(3, { cacheMetadata: second }));
  platform.advance(60_000);
  expect(await ask(4, { cacheMetadata: third })).toHaveProperty('cacheMetadata.cacheName');
});

test('a request whose cache no longer exists is sent uncached and reported', async () => {
  const { ask, platform, cacheMetadata } = await withCache();
  await server.enqueue(
    errorReply({ code: 403, status: 'PERMISSION_DENIED', message: 'CachedContent not found' }),
    answer,
  );
  const response = await ask(3, { cacheMetadata });
  expect(response.cacheMetadata).toEqual({ fingerprint: cacheMetadata.fingerprint, contentsCount: 2 });
  expect((await server.requests())[4]?.body.contents).toHaveLength(5);
  await expect(platform.drain()).rejects.toThrow(/CachedContent not found/);
});

test('attempts of one request share the cache of the first', async () => {
  const busy = errorReply({ code: 503, status: 'UNAVAILABLE' });
  await server.enqueue(answer, made, busy, answer);
  const { ask } = setUp({ retry: { attempts: 2, initialDelayMs: 0 }, platform: undefined });
  const response = await ask(2, { cacheMetadata: metadataOf(await ask(1)) });
  expect(response.cacheMetadata).toMatchObject({ cacheName: 'cachedContents/c1' });
  expect((await server.requests())[3]?.body).toHaveProperty('cachedContent');
});

test('nothing is cached without cacheConfig, or if the request names cached content itself', async () => {
  await server.enqueue(answer, answer);
  const { ask } = setUp();
  expect(await ask(1, { cacheConfig: undefined as never })).not.toHaveProperty('cacheMetadata');
  expect(await ask(1, { config: { cachedContent: 'cachedContents/own' } })).not.toHaveProperty('cacheMetadata');
});

test('on Vertex AI caches belong to the project', async () => {
  await server.enqueue(answer, jsonReply({ name: 'projects/p/locations/l/cachedContents/c1' }), answer);
  const { ask } = setUp({ vertexai: true, apiKey: 'a-test-key' });
  const response = await ask(2, { cacheMetadata: metadataOf(await ask(1)) });
  expect(response.cacheMetadata).toMatchObject({ cacheName: 'projects/p/locations/l/cachedContents/c1' });
  expect((await server.requests())[2]?.body['cachedContent']).toBe('projects/p/locations/l/cachedContents/c1');
});
