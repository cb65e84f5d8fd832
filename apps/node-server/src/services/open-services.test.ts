import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError } from '@eventloom/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { makeDataFolder, readKeyFile } from './open-services.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  file = join(folder, 'kept', 'credentials.key');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a key file is created with mode 0600 and read again later', () => {
  const key = readKeyFile(file);
  expect(key).toHaveLength(32);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(folder, 'kept'))).toEqual(['credentials.key']);
  expect(readKeyFile(file)).toEqual(key);
  expect(readKeyFile(join(folder, 'another.key'))).not.toEqual(key);
});

test('a key file that others may read is refused', () => {
  readKeyFile(file);
  for (const mode of [0o640, 0o604, 0o660]) {
    chmodSync(file, mode);
    expect(() => readKeyFile(file)).toThrow(/chmod 600/);
  }
});

test('an invalid key file is refused with its path, not quoted, and not changed', () => {
  readKeyFile(file);
  writeFileSync(file, 'hunter2');
  const read = () => readKeyFile(file);
  expect(read).toThrow(ConfigurationError);
  expect(read).toThrow(file);
  expect(read).not.toThrow(/hunter2/);
  expect(readFileSync(file, 'utf8')).toBe('hunter2');
  expect(() => readKeyFile(folder)).toThrow(ConfigurationError);
});

test('makeDataFolder creates the folder and its parents for their owner only, and keeps it out of version control', () => {
  const data = join(folder, 'a', 'data');
  makeDataFolder(data);
  makeDataFolder(data);
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(data, '.gitignore'), 'utf8')).toBe('*\n');
});

test('makeDataFolder throws a UsageError for a path at which no folder can be created', () => {
  writeFileSync(join(folder, 'file'), '');
  for (const path of [join(folder, 'file'), join(folder, 'file', 'data'), '/proc/eventloom/data']) {
    expect(() => makeDataFolder(path)).toThrow(UsageError);
  }
});
