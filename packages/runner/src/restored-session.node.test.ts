import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { afterAll, expect, test } from 'vitest';
import { scenario } from './fixtures/scenario.ts';

const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([0, 1, 2, 3])(
  'a model gets what a restored session has, after a process without the lost turns took %i turns',
  async (turns) => {
    const path = join(folder, `${turns}.db`);
    const sessionService = new SqliteSessionService({ path });
    const model = new ScriptedModel(Array.from({ length: 12 }, () => 'ok'));
    const agent = new LlmAgent({ name: 'bot', model });
    const { run, restart } = await scenario({ agent, sessionService });
    for (const text of ['one', 'two', 'three', 'four']) await run(text);
    const database = new DatabaseSync(path);
    database.exec('DELETE FROM eventloom_events WHERE pk > (SELECT min(pk) + 3 FROM eventloom_events)');
    database.close();
    const other = restart();
    const added = Array.from({ length: turns }, (_, index) => `new ${index}`);
    for (const text of added) await other.run(text);
    await run('last');
    const asked = model.requests.at(-1)?.request.contents.filter(({ role }) => role === 'user');
    expect(asked?.map(({ parts }) => parts?.[0]?.text)).toEqual(['one', 'two', ...added, 'last']);
    sessionService.close();
  },
);
