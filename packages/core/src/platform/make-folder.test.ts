import { expect, test } from 'vitest';
import { makeFolder } from './make-folder.ts';

/** A file system with these folders, which creates no folder below `/proc`. */
function fileSystem(...folders: string[]) {
  const error = (code: string): Error => Object.assign(new Error(code), { code });
  const dirname = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/';
  const mkdirSync = (path: string): void => {
    if (folders.includes(path)) throw error('EEXIST');
    if (path.startsWith('/proc/') || !folders.includes(dirname(path))) throw error('ENOENT');
    if (path.startsWith('/read-only/')) throw error('EROFS');
    folders.push(path);
  };
  return { folders, modules: { mkdirSync, dirname } };
}

test('makeFolder creates a folder and its missing parents', () => {
  const { folders, modules } = fileSystem('/', '/data');
  makeFolder('/data/a/b', modules);
  makeFolder('/data/a/b', modules);
  expect(folders).toEqual(['/', '/data', '/data/a', '/data/a/b']);
});

test.each([
  ['/proc/x', 'ENOENT'],
  ['/proc/x/y', 'ENOENT'],
  ['/read-only/x/y', 'EROFS'],
])('makeFolder throws if the file system cannot create the folder: %s', (folder, code) => {
  const { folders, modules } = fileSystem('/', '/proc', '/read-only');
  expect(() => makeFolder(folder, modules)).toThrow(code);
  expect(folders.length).toBe(3);
});
