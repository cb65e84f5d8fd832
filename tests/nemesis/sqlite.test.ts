import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sqliteBackEnd } from './back-ends.ts';
import { bundleProgram } from '../runtimes/bundle-program.ts';
import { playScenario, testedScenarios } from './play-scenario.ts';

let folder: string;
let program: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-nemesis-'));
  program = await bundleProgram(join(import.meta.dirname, 'attacked-process.ts'), folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('servers on one file of SQLite', { timeout: 900_000 }, () => {
  test.each(testedScenarios('sqlite'))(
    '%s: every run ends, nothing happens twice, and clients get the stored outcome',
    async (name, scenario, rounds) => {
      await using backEnd = sqliteBackEnd(program, mkdtempSync(join(folder, `${name}-`)));
      expect(await playScenario(scenario, backEnd, rounds)).toEqual([]);
    },
  );
});
