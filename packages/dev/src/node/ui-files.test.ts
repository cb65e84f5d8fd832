import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { uiFiles } from './index.ts';

let base: string;
let folder: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'eventloom-ui-'));
  folder = join(base, 'page');
  await mkdir(join(folder, 'assets'), { recursive: true });
  await mkdir(join(base, 'page-of-others'));
  await writeFile(join(folder, 'index.html'), 'page');
  await writeFile(join(folder, 'assets/main.js'), 'script');
  await writeFile(join(folder, '.env'), 'secret');
  await writeFile(join(base, 'secret.txt'), 'secret');
  await writeFile(join(base, 'page-of-others/secret.txt'), 'secret');
});
afterEach(() => rm(base, { recursive: true }));

async function textOf(path: string, from = folder): Promise<string | undefined> {
  const bytes = await (await uiFiles(from))(path);
  return bytes && new TextDecoder().decode(bytes);
}

test('files of the folder are read, also those in folders below it', async () => {
  expect(await textOf('index.html')).toBe('page');
  expect(await textOf('assets/main.js')).toBe('script');
});

test.each([
  'other.js',
  'assets',
  'index.html/other.js',
  '',
  '../secret.txt',
  'assets/../../secret.txt',
  'assets/../index.html',
  '../page-of-others/secret.txt',
  './index.html',
  '/index.html',
  '/etc/passwd',
  'assets//main.js',
  'assets\\main.js',
  '..\\secret.txt',
  '%2e%2e/secret.txt',
  '.env',
  'assets/.env',
  `${'x'.repeat(300)}.js`,
  `${'x/'.repeat(5000)}x.js`,
  'index.html\0',
  'index.html\n',
])('%j is not a file of the page', async (path) => {
  expect(await textOf(path)).toBeUndefined();
});

test('a link out of the folder is not followed', async () => {
  await symlink(join(base, 'secret.txt'), join(folder, 'file.txt'));
  await symlink(base, join(folder, 'up'));
  // Its name begins with that of the folder.
  await symlink(join(base, 'page-of-others'), join(folder, 'beside'));
  await symlink(join(folder, 'nothing.txt'), join(folder, 'broken.txt'));
  await symlink('circle.txt', join(folder, 'circle.txt'));
  for (const path of [
    'file.txt',
    'up/secret.txt',
    'up/page-of-others/secret.txt',
    'beside/secret.txt',
    'broken.txt',
    'circle.txt',
  ])
    expect(await textOf(path), path).toBeUndefined();
});

test('links that stay in the folder are followed, and the folder itself may be one', async () => {
  await symlink(join(folder, 'assets/main.js'), join(folder, 'main.js'));
  await symlink(folder, join(base, 'latest'));
  expect(await textOf('main.js', join(base, 'latest'))).toBe('script');
  expect(await textOf('assets/main.js', join(base, 'latest'))).toBe('script');
});

test('a folder without a page, or whose page is a link out of it, is refused', async () => {
  await symlink(join(base, 'secret.txt'), join(base, 'page-of-others/index.html'));
  for (const refused of ['assets', 'nothing', '../page-of-others', 'index.html'])
    await expect(uiFiles(join(folder, refused))).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining('has no index.html'),
    });
});
