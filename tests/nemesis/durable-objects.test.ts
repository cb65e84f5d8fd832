import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { playScenario, testedScenarios } from './play-scenario.ts';
import { USERS } from './scenarios.ts';
import { bundleWorker, startWorkerBackEnd } from './worker-back-end.ts';

let folder: string;
let worker: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-nemesis-'));
  worker = await bundleWorker(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('Durable Objects in workerd', { timeout: 900_000 }, () => {
  test.each(testedScenarios('durable-objects'))(
    '%s: every run ends, nothing happens twice, and clients get the stored outcome',
    async (name, scenario, rounds) => {
      await using backEnd = await startWorkerBackEnd(worker, mkdtempSync(join(folder, `${name}-`)), USERS);
      expect(await playScenario(scenario, backEnd, rounds)).toEqual([]);
    },
  );
});
