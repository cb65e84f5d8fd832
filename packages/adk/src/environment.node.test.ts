import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { FakeGeminiServer, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { describe, expect, onTestFinished, test } from 'vitest';
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
