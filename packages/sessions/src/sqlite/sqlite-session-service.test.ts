import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { sessionServiceConformance } from '../conformance/index.ts';
import { SqliteSessionService } from './sqlite-session-service.ts';

const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('SqliteSessionService keeps the contract', () => {
  let files = 0;
  const cases = sessionServiceConformance(async ({ platform }) => {
    const path = join(folder, `${files++}.db`);
    const opened: SqliteSessionService[] = [];
    const another = (): SqliteSessionService => {
      const service = new SqliteSessionService({ path, platform });
      opened.push(service);
      return service;
    };
    const close = (): void => opened.forEach((service) => service.close());
    return { service: another(), another, close };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

test('SqliteSessionService says what to write if it gets no options', () => {
  expect(() => new SqliteSessionService(undefined as never)).toThrow(
    "SqliteSessionService: expected an object of options, got nothing; write new SqliteSessionService({ path: 'sessions.db' })",
  );
});
