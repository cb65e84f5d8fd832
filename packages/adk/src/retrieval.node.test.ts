import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { ScriptedModel } from '@eventloom/testing';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { FilesRetrieval, getFunctionResponses, InMemoryRunner, LlamaIndexRetrieval, LlmAgent } from './index.ts';

const WORDS = ['laptop', 'travel', 'expense', 'holiday'];
/** A vector that counts words. */
const vectorOf = (text: string): number[] => WORDS.map((word) => text.toLowerCase().split(word).length - 1);
const embedder = { embed: async (texts: readonly string[]) => texts.map(vectorOf) };

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-retrieval-'));
  mkdirSync(join(folder, 'more'));
  mkdirSync(join(folder, '.git'));
  writeFileSync(join(folder, 'equipment.md'), 'A laptop is replaced after three years.');
  writeFileSync(join(folder, 'more', 'travel.txt'), 'Travel in the cheapest class.');
  writeFileSync(join(folder, '.git', 'config'), 'laptop laptop laptop laptop');
  writeFileSync(join(folder, 'image.png'), new Uint8Array([0x89, 0x50, 0, 0xff]));
  writeFileSync(join(folder, 'latin1.txt'), new Uint8Array([0x6c, 0xe4, 0x70]));
  symlinkSync('/etc/hostname', join(folder, 'link.txt'));
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

const NAMES = { name: 'handbook', description: 'Searches the handbook.' };

/** Returns the answer of the tool to a call of the model. */
async function ask(tool: LlamaIndexRetrieval, query: string): Promise<unknown> {
  const model = new ScriptedModel([{ calls: [{ name: 'handbook', args: { query } }] }, 'Done.']);
  const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'helper', model, tools: [tool] }) });
  const responses: unknown[] = [];
  for await (const event of runner.runEphemeral({ userId: 'ann', newMessage: { parts: [{ text: 'Hi' }] } }))
    responses.push(...getFunctionResponses(event).map(({ response }) => response));
  expect(model.requests[0]?.request.config.tools).toEqual([
    { functionDeclarations: [expect.objectContaining({ name: 'handbook' })] },
  ]);
  return responses[0];
}

test('the model gets the passage of the files that is nearest to its query', async () => {
  const tool = await FilesRetrieval.create({ ...NAMES, inputDir: folder, embedder });
  expect(await ask(tool, 'When do I get a new laptop?')).toEqual({ result: 'A laptop is replaced after three years.' });
  expect(await ask(tool, 'How do I travel?')).toEqual({ result: 'Travel in the cheapest class.' });
});

test('hidden files, links and files that are not UTF-8 text are left out', async () => {
  const seen: string[] = [];
  const noting = { embed: (texts: readonly string[]) => (seen.push(...texts), embedder.embed(texts)) };
  await FilesRetrieval.create({ ...NAMES, inputDir: folder, embedder: noting });
  expect(seen).toEqual(['A laptop is replaced after three years.', 'Travel in the cheapest class.']);
});

test('a long text is divided into passages of whole paragraphs and words', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'eventloom-retrieval-'));
  const paragraph = 'word '.repeat(300).trim();
  writeFileSync(join(dir, 'long.txt'), `${paragraph}\n\n${paragraph}\n \n${'long '.repeat(1000)}`);
  const seen: string[] = [];
  const noting = { embed: (texts: readonly string[]) => (seen.push(...texts), embedder.embed(texts)) };
  await FilesRetrieval.create({ ...NAMES, inputDir: dir, embedder: noting });
  rmSync(dir, { recursive: true });
  expect(seen.map((text) => text.length <= 3002)).toEqual(seen.map(() => true));
  expect(seen.join(' ').split(/\s+/)).toHaveLength(1600);
});

test('files are embedded by Gemini with the key of the environment', async () => {
  const bodies: unknown[] = [];
  const server: Server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1');
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = (await json(request)) as { readonly requests: readonly { content: { parts: { text: string }[] } }[] };
    bodies.push({ url: request.url, key: request.headers['x-goog-api-key'], body });
    const texts = body.requests.map(({ content }) => content.parts[0]?.text ?? '');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ embeddings: texts.map((text) => ({ values: vectorOf(text) })) }));
  };
  await once(server, 'listening');
  vi.stubEnv('GOOGLE_GENAI_API_KEY', 'key-1');
  vi.stubEnv('GOOGLE_GEMINI_BASE_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const tool = await FilesRetrieval.create({ ...NAMES, inputDir: folder });
  expect(await ask(tool, 'A new laptop?')).toEqual({ result: 'A laptop is replaced after three years.' });
  server.close();
  server.closeAllConnections();
  expect(bodies).toEqual([
    {
      url: expect.stringMatching(/\/models\/gemini-embedding-001:batchEmbedContents$/),
      key: 'key-1',
      body: { requests: [expect.objectContaining({ taskType: 'RETRIEVAL_DOCUMENT' }), expect.anything()] },
    },
    expect.objectContaining({ body: { requests: [expect.objectContaining({ taskType: 'RETRIEVAL_QUERY' })] } }),
  ]);
});

test('an embedder without embed or with too few vectors, and no key, are refused', async () => {
  const create = (given?: unknown) => FilesRetrieval.create({ ...NAMES, inputDir: folder, embedder: given as never });
  await expect(create({})).rejects.toThrow('FilesRetrieval.create: embedder: expected an object with embed');
  await expect(create({ embed: async () => [[1]] })).rejects.toThrow('embedder gave 1 vectors for 2 texts');
  for (const name of ['GOOGLE_GENAI_API_KEY', 'GOOGLE_API_KEY', 'GEMINI_API_KEY']) vi.stubEnv(name, undefined);
  await expect(create()).rejects.toThrow('FilesRetrieval.create: there is no API key; set GEMINI_API_KEY');
});

test('a folder that is missing or has no text, and a tool without an index, are refused', async () => {
  const create = (inputDir: string) => FilesRetrieval.create({ ...NAMES, inputDir, embedder });
  await expect(create(join(folder, 'none'))).rejects.toThrow('FilesRetrieval.create: inputDir: cannot be read (ENOENT');
  await expect(create(join(folder, '.git'))).resolves.toBeInstanceOf(FilesRetrieval);
  const empty = mkdtempSync(join(tmpdir(), 'eventloom-retrieval-'));
  await expect(create(empty)).rejects.toThrow('has no text files');
  writeFileSync(join(empty, '0.txt'), 'x');
  for (let at = 1; at <= 5000; at++) linkSync(join(empty, '0.txt'), join(empty, `${at}.txt`));
  await expect(create(empty)).rejects.toThrow(
    'has 5001 files; at most 5000 are read; choose a folder with fewer files',
  );
  rmSync(empty, { recursive: true });
  expect(() => new FilesRetrieval({ ...NAMES, inputDir: folder } as never)).toThrow('await FilesRetrieval.create');
});

test('a retriever of the program answers, and the model reads that nothing was found', async () => {
  const retriever = {
    retrieve: async (query: string) => (query === 'rent' ? [{ node: { text: 'Due on the first.' }, score: 1 }] : []),
  };
  const tool = new LlamaIndexRetrieval({ ...NAMES, retriever });
  expect(await ask(tool, 'rent')).toEqual({ result: 'Due on the first.' });
  expect(await ask(tool, 'taxes')).toEqual({ error: 'handbook found nothing for this query' });
});
