import { runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import type { SessionKey } from '@eventloom/core';
import { limitRows } from '@eventloom/test-workers';
import { sessionServiceConformance } from '../conformance/index.ts';
import { DurableObjectSessionService } from './durable-object-session-service.ts';

const inBucket = { bucket: env.ARTIFACTS, prefix: 'conformance/' };
const isLong = 'thousands of objects in a bucket take minutes, and tell nothing that a few do not';
const isSame =
  'values of this size are in pieces, or in the bucket, whatever the size of a row: see the first two services';
const isMany = 'a thousand runs take a thousand times as long, and tell nothing that the other cases do not';
const withoutLarge = { 'size.limit-reached': isSame, 'size.limit-passed': isSame, 'open.default-limit': isMany };
const withoutLong = {
  ...withoutLarge,
  'events.limit': isLong,
  'export.long-session': isLong,
  'export.deleted-midway': isLong,
};

describe.each([
  { name: '', options: {}, only: '', deviations: {} },
  { name: ' with a bucket for what is large', options: inBucket, only: 'size.', deviations: {} },
  { name: ' with everything in pieces', options: { maxRowBytes: 0 }, only: '', deviations: withoutLarge },
  {
    name: ' with everything in a bucket',
    options: { ...inBucket, maxRowBytes: 0 },
    only: '',
    deviations: withoutLong,
  },
])('DurableObjectSessionService keeps the contract$name', ({ options, only, deviations }) => {
  // The same object for all cases: another one for each, with its tables, would take most of the time.
  const object = env.STORAGE.get(env.STORAGE.newUniqueId());
  let storage: DurableObjectStorage | undefined;
  const cases = sessionServiceConformance(
    async ({ platform }) => {
      if (!storage) return expect.unreachable('a case runs inside an object');
      const { sql } = storage;
      deleteRows(sql);
      const service = new DurableObjectSessionService({ storage, platform, ...options });
      limitRows(storage);
      const loseEvent = ({ appName, userId, sessionId }: SessionKey): void => {
        sql.exec(
          `DELETE FROM eventloom_events WHERE pk = (
            SELECT max(pk) FROM eventloom_events WHERE session = (
              SELECT pk FROM eventloom_sessions WHERE app_name = ? AND user_id = ? AND session_id = ?))`,
          appName,
          userId,
          sessionId,
        );
      };
      return { service, maxBytes: 16_777_216, loseEvent };
    },
    { deviations },
  );
  for (const { id, title, run } of cases.filter((each) => each.id.startsWith(only))) {
    test(`${id}: ${title}`, () =>
      runInDurableObject(object, async (_instance, state) => {
        storage = state.storage;
        await run();
      }));
  }
});

/** Deletes the rows of earlier cases. */
function deleteRows(sql: DurableObjectStorage['sql']): void {
  const tables = sql
    .exec<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'eventloom%'")
    .toArray();
  for (const { name } of tables) if (name !== 'eventloom_meta') sql.exec(`DELETE FROM ${name}`);
}
