import type { Platform } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { fixedPlatform, Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { createServer } from '../create-server.ts';

test('a run whose process was killed while its clock was an hour ahead is resumed within a minute', async () => {
  const platform = fixedPlatform();
  const ahead: Platform = { ...platform, now: () => platform.now() + 3_600_000, schedule: () => () => undefined };
  const database = new DatabaseSync(':memory:');
  const runnerOn = (on: Platform, steps: readonly ScriptedStep[]) =>
    new Runner({
      appName: 'app',
      agent: new LlmAgent({ name: 'bot', model: new ScriptedModel(steps) }),
      sessionService: new SqliteSessionService({ database, platform: on }),
      platform: on,
      resumable: true,
      autoCreateSession: true,
    });
  const gate = new Gate();
  const killed = runnerOn(ahead, [{ gate, text: 'never' }]);
  const newMessage = { parts: [{ text: 'hi' }] };
  void (async () => {
    for await (const _event of killed.runAsync({ userId: 'ann', sessionId: 's', newMessage }));
  })();
  await gate.reached;
  const runner = runnerOn(platform, ['done']);
  const server = createServer({ runners: [runner], platform, onError: (error) => expect.unreachable(String(error)) });
  const beganMs = platform.now();
  const open = async () => {
    platform.advance(1000);
    return (await runner.listOpenRuns({})).runs;
  };
  await expect.poll(open, { interval: 1 }).toEqual([]);
  expect(platform.now() - beganMs).toBeLessThan(60_000);
  const session = await runner.sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' });
  expect(session?.events.map(({ content }) => content?.parts?.[0]?.text)).toContain('done');
  await server.drain(0);
});
