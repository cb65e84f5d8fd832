import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { playScenario, testedScenarios } from './play-scenario.ts';
import { USERS } from './scenarios.ts';
import { createWorkerd, startWorkerBackEnd, type WorkerHost, wranglerDev } from './worker-back-end.ts';

let folder: string;
let workerd: WorkerHost;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-nemesis-'));
  workerd = await createWorkerd(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

// In workerd itself, which starts sooner, and once as a developer runs them.
describe.each([
  ['workerd', 'durable-objects', () => workerd],
  ['wrangler dev', 'wrangler-dev', () => wranglerDev],
] as const)('Durable Objects in %s', { timeout: 900_000 }, (_title, backEndName, host) => {
  test.each(testedScenarios(backEndName))(
    '%s: every run ends, nothing happens twice, and clients get the stored outcome',
    async (name, scenario, rounds) => {
      await using backEnd = await startWorkerBackEnd(host(), mkdtempSync(join(folder, `${name}-`)), USERS);
      expect(await playScenario(scenario, backEnd, rounds)).toEqual([]);
    },
  );
});
