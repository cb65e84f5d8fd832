import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findVariable } from './node/environment.ts';

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
    ['a value with a comment', '# keys\nGEMINI_API_KEY=file # mine'],
  ])('reads %s from .env', (_title, text) => {
    expect(findVariable('GEMINI_API_KEY', {}, folderWith(text))).toBe('file');
  });

  test('treats an empty variable of the process as absent', () => {
    expect(findVariable('GEMINI_API_KEY', { GEMINI_API_KEY: '' }, folderWith('GEMINI_API_KEY=file'))).toBe('file');
  });

  test('returns undefined without a file', () => {
    expect(findVariable('GEMINI_API_KEY', {}, folderWith())).toBeUndefined();
  });
});
