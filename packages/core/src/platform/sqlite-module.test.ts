import { expect, test } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import { requireSqlite } from './sqlite-module.ts';

test('a runtime without node:sqlite is refused with the service, the version and what to install', () => {
  const requiring = (): unknown => requireSqlite('SqliteSessionService', undefined, 'v20.11.0');
  expect(requiring).toThrow(ConfigurationError);
  expect(requiring).toThrow(
    /^SqliteSessionService: needs the module node:sqlite, .*Node v20\.11\.0.*Node 22\.18 or later$/,
  );
});

test('the module is returned if the runtime has it', () => {
  const sqlite = {};
  expect(requireSqlite('SqliteSessionService', sqlite, 'v24.0.0')).toBe(sqlite);
});
