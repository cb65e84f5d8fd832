import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { studioFiles } from './studio-files.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'studio-files-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'assets/index-1.js'), 'start()');
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('studioFiles', () => {
  test('reads the files of the folder that it is given, and nothing outside of it', async () => {
    const files = studioFiles({ folder });
    expect(await new Response(await files('assets/index-1.js')).text()).toBe('start()');
    expect(await files('../index-1.js')).toBeUndefined();
    expect(await files('assets/missing.js')).toBeUndefined();
  });

  test('says what to write when the folder has no page', async () => {
    await expect(async () => studioFiles({ folder })('index.html')).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringMatching(
        /has no index\.html; in a bundle, leave @eventloom\/studio external, .* studioFiles\(\{ folder \}\)/,
      ) as string,
    });
  });

  test('refuses an unknown option', () => {
    const wrong = { path: folder };
    expect(() => studioFiles(wrong as object)).toThrow('studioFiles: has no option "path"');
  });
});
