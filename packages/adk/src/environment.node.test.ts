import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { FakeGeminiServer, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Gemini, geminiInitParams, InMemoryRunner, LlmAgent, LLMRegistry, type GeminiParams } from './index.ts';
import { describeDotEnv, findVariable } from './node/environment.ts';

function folderWith(dotEnv?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'adk-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  if (dotEnv !== undefined) writeFileSync(join(folder, '.env'), dotEnv);
  return folder;
}

describe('findVariable', () => {
  test('returns the variable of the process before that of the file', () => {
    expect(findVariable('GEMINI_API_KEY', { GEMINI_API_KEY: 'process' }, folderWith('GEMINI_API_KEY=file'))).toBe(
      'process',
    );
  });

  test.each([
    ['a plain value', 'GEMINI_API_KEY=file'],
    ['a quoted value', 'GEMINI_API_KEY="file"'],
    ['an exported value', 'export GEMINI_API_KEY=file'],
    ['the first value after a byte order mark', '\uFEFFGEMINI_API_KEY=file'],
    ['a value with a comment', '# keys\nGEMINI_API_KEY=file # mine'],
  ])('reads %s from .env', (_title, text) => {
    expect(findVariable('GEMINI_API_KEY', {}, folderWith(text))).toBe('file');
  });

  test('treats an empty variable of the process as absent', () => {
    expect(findVariable('GEMINI_API_KEY', { GEMINI_API_KEY: '' }, folderWith('GEMINI_API_KEY=file'))).toBe('file');
  });

  test('ignores a folder with the name .env', () => {
    const folder = folderWith();
    mkdirSync(join(folder, '.env'));
    expect(findVariable('GEMINI_API_KEY', {}, folder)).toBeUndefined();
    expect(describeDotEnv()).toBe('');
  });

  test('ignores a file that cannot be read, and keeps the reason for errors about missing variables', () => {
    const folder = folderWith();
    // A link to itself cannot be read by any user.
    symlinkSync('.env', join(folder, '.env'));
    expect(findVariable('GEMINI_API_KEY', {}, folder)).toBeUndefined();
    expect(describeDotEnv()).toMatch(/^ The file .*\.env cannot be read: ELOOP/);
    expect(findVariable('GEMINI_API_KEY', { GEMINI_API_KEY: 'process' }, folder)).toBe('process');
    expect(findVariable('GEMINI_API_KEY', {}, folderWith())).toBeUndefined();
    expect(describeDotEnv()).toBe('');
  });

  test('returns undefined without a file', () => {
    expect(findVariable('GEMINI_API_KEY', {}, folderWith())).toBeUndefined();
  });
});

type Variables = Readonly<Record<string, string>>;

const THREE_KEYS = { GEMINI_API_KEY: 'third', GOOGLE_API_KEY: 'second', GOOGLE_GENAI_API_KEY: 'first' };
const PLACE = { GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_CLOUD_LOCATION: 'l' };
const ON_VERTEX_AI = { ...PLACE, GOOGLE_GENAI_USE_VERTEXAI: 'true' };
const IN_PLACE = { vertexai: true, project: 'p', location: 'l', apiKey: undefined };

/** Gives this process only these variables of models, and a folder with this file `.env` or without one. */
function useEnvironment(variables: Variables, dotEnv?: string): void {
  const all = [...Object.keys({ ...THREE_KEYS, ...ON_VERTEX_AI }), 'GOOGLE_GENAI_USE_ENTERPRISE'];
  for (const name of all) vi.stubEnv(name, variables[name]);
  vi.spyOn(process, 'cwd').mockReturnValue(folderWith(dotEnv));
}

describe('the settings of a Gemini', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  test.each<[title: string, variables: Variables, given: GeminiParams, settings: GeminiParams]>([
    ['have no key without a variable', {}, {}, { vertexai: false, apiKey: undefined }],
    ['take GOOGLE_GENAI_API_KEY before the other keys', THREE_KEYS, {}, { vertexai: false, apiKey: 'first' }],
    [
      'take GOOGLE_API_KEY before GEMINI_API_KEY',
      { ...THREE_KEYS, GOOGLE_GENAI_API_KEY: '' },
      {},
      { apiKey: 'second' },
    ],
    ['take GEMINI_API_KEY if it is the only key', { GEMINI_API_KEY: 'third' }, {}, { apiKey: 'third' }],
    ['take a key of the program before those of variables', THREE_KEYS, { apiKey: 'own' }, { apiKey: 'own' }],
    ['name Vertex AI with GOOGLE_GENAI_USE_VERTEXAI=true', { ...ON_VERTEX_AI, ...THREE_KEYS }, {}, IN_PLACE],
    [
      'name Vertex AI with GOOGLE_GENAI_USE_VERTEXAI=1',
      { ...ON_VERTEX_AI, GOOGLE_GENAI_USE_VERTEXAI: '1' },
      {},
      IN_PLACE,
    ],
    [
      'name Vertex AI with GOOGLE_GENAI_USE_ENTERPRISE=TRUE',
      { ...PLACE, GOOGLE_GENAI_USE_ENTERPRISE: 'TRUE' },
      {},
      IN_PLACE,
    ],
    [
      'read GOOGLE_GENAI_USE_ENTERPRISE before GOOGLE_GENAI_USE_VERTEXAI',
      { ...ON_VERTEX_AI, GOOGLE_GENAI_USE_ENTERPRISE: 'false', GEMINI_API_KEY: 'third' },
      {},
      { vertexai: false, apiKey: 'third' },
    ],
    [
      'do not name Vertex AI with another value',
      { ...ON_VERTEX_AI, GOOGLE_GENAI_USE_VERTEXAI: 'no' },
      {},
      { vertexai: false },
    ],
    ['take the place of variables if the program names Vertex AI', PLACE, { vertexai: true }, IN_PLACE],
    [
      'take a place of the program before that of variables',
      ON_VERTEX_AI,
      { project: 'own', location: 'here' },
      { ...IN_PLACE, project: 'own', location: 'here' },
    ],
  ])('%s', (_title, variables, given, settings) => {
    useEnvironment(variables);
    expect(geminiInitParams(given)).toMatchObject(settings);
  });

  test('take a variable of the process before one of .env, and the others from .env', () => {
    useEnvironment({ GOOGLE_CLOUD_LOCATION: 'of-the-process' }, 'GOOGLE_CLOUD_LOCATION=l\nGOOGLE_CLOUD_PROJECT=p\n');
    expect(geminiInitParams({ vertexai: true })).toMatchObject({ ...IN_PLACE, location: 'of-the-process' });
  });

  test.each(['GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION'])('require %s on Vertex AI', (name) => {
    useEnvironment({ ...ON_VERTEX_AI, [name]: '' });
    expect(() => new Gemini()).toThrow(`or set ${name}`);
  });

  test.each<[title: string, make: () => unknown]>([
    ['a Gemini', () => new Gemini({ model: 'gemini-2.5-flash' })],
    ['a model of LLMRegistry', () => LLMRegistry.newLlm('gemini-2.5-flash')],
    [
      'a model that an agent names',
      () => new InMemoryRunner({ agent: new LlmAgent({ name: 'helper' }) }).models?.('gemini-2.5-flash'),
    ],
  ])('select Vertex AI for %s by the file .env', (_title, make) => {
    useEnvironment({}, 'GOOGLE_GENAI_USE_VERTEXAI=TRUE\nGOOGLE_CLOUD_PROJECT=p\nGOOGLE_CLOUD_LOCATION="l"\n');
    expect(make()).toMatchObject({ vertexai: true, project: 'p', location: 'l' });
  });
});

test('a Gemini takes its key and the address of the service from .env', async () => {
  await using server = await FakeGeminiServer.start([jsonReply(wireResponse('Hello.'))]);
  const folder = folderWith(`\uFEFFGEMINI_API_KEY=of-the-file\nGOOGLE_GEMINI_BASE_URL=${server.url}\n`);
  const program = `
    import { Gemini } from ${JSON.stringify(import.meta.resolve('./index.ts'))};
    const contents = [{ role: 'user', parts: [{ text: 'Hi.' }] }];
    for await (const { content } of new Gemini().generateContentAsync({ contents })) console.log(content.parts[0].text);
  `;
  const { PATH = '' } = process.env;
  const options = { cwd: folder, env: { PATH } };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], options);
  expect(stdout).toBe('Hello.\n');
  expect(server.requests[0]?.headers['x-goog-api-key']).toBe('of-the-file');
});
