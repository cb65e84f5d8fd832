import { type Postgres, startPostgres } from '@eventloom/test-postgres';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresBackEnd } from './back-ends.ts';
import { bundleProgram } from '../runtimes/bundle-program.ts';
import { playScenario, testedScenarios } from './play-scenario.ts';

let folder: string;
let program: string;
let postgres: Postgres;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-nemesis-'));
  postgres = await startPostgres();
  program = await bundleProgram(join(import.meta.dirname, 'attacked-process.ts'), folder);
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

describe('servers on one PostgreSQL', { timeout: 900_000 }, () => {
  test.each(testedScenarios('postgres'))(
    '%s: every run ends, nothing happens twice, and clients get the stored outcome',
    async (name, scenario, rounds) => {
      await using backEnd = await createPostgresBackEnd(program, mkdtempSync(join(folder, `${name}-`)), postgres);
      expect(await playScenario(scenario, backEnd, rounds)).toEqual([]);
    },
  );
});
