import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { LOAD_MEMORY } from '@eventloom/tools';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { SqliteMemoryService } from './sqlite-memory-service.ts';

/** Sends a message to an agent whose sessions and memories are in one file, which is closed afterwards. */
async function say(path: string, sessionId: string, text: string, steps: readonly ScriptedStep[]) {
  const database = new DatabaseSync(path);
  const agent = new LlmAgent({
    name: 'bot',
    model: new ScriptedModel(steps),
    tools: [LOAD_MEMORY],
    afterAgentCallback: async (context) => {
      await context.addSessionToMemory();
      return undefined;
    },
  });
  const sessionService = new SqliteSessionService({ database });
  const memoryService = new SqliteMemoryService({ database });
  const runner = new Runner({ appName: 'app', agent, sessionService, memoryService, autoCreateSession: true });
  const events = await runner.run({ userId: 'u', sessionId, newMessage: { parts: [{ text }] } });
  database.close();
  return events;
}

test('text of one run is found in a later one, in one file with the sessions', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  const path = join(folder, 'all.db');
  await say(path, 'first', 'My dog is called Rex.', ['Nice.']);
  await say(path, 'first', 'He is three.', ['Oh.']);
  const calls = [{ name: 'load_memory', args: { query: 'dog' } }];
  const events = await say(path, 'second', 'Who is my dog?', [{ calls }, 'Rex.']);
  const [response] = (events[1]?.content?.parts ?? []).map(({ functionResponse }) => functionResponse?.response);
  expect(response).toMatchObject({ memories: [{ author: 'user', content: 'My dog is called Rex.' }] });
  rmSync(folder, { recursive: true, force: true });
});
