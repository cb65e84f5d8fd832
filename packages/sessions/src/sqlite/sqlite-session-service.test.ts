import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { SessionKey } from '@eventloom/core';
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
    const loseEvent = ({ appName, userId, sessionId }: SessionKey): void => {
      const database = new DatabaseSync(path);
      database
        .prepare(
          `DELETE FROM eventloom_events WHERE pk = (
              SELECT max(pk) FROM eventloom_events WHERE session = (
                SELECT pk FROM eventloom_sessions WHERE app_name = ? AND user_id = ? AND session_id = ?))`,
        )
        .run(appName, userId, sessionId);
      database.close();
    };
    return { service: another(), another, close, loseEvent };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

test('SqliteSessionService says what to write if it gets no options', () => {
  expect(() => new SqliteSessionService(undefined as never)).toThrow(
    "SqliteSessionService: expected an object of options, got nothing; write new SqliteSessionService({ path: 'sessions.db' })",
  );
});
