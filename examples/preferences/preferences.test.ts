import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { ScriptedModel } from '@eventloom/testing';
import { InMemorySessionService, LlmAgent, Runner } from 'eventloom';
import { expect, onTestFinished, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { rootAgent } from './agent.ts';
import { copy, recentEvents, undo } from './sessions.ts';
import { story } from './story.ts';

test('another session of the user has the user state, but not the session state', async () => {
  const { stage, model } = await playOffline(story);
  const [, , elsewhere] = model.requestsOf('waiter');
  expect(elsewhere?.config.systemInstruction).toContain('The user likes: mushrooms. Last talked about: .');
  expect(JSON.stringify(elsewhere?.contents)).not.toContain('mushrooms');
  expect((await stage.session('at noon'))?.state).toEqual({ 'app:updates': 1, lastTopic: 'mushrooms' });
});

test("removed keys are in the event's actions, and temp: state is in no event", async () => {
  const { stage } = await playOffline(story);
  const events = [
    ...((await stage.session('at noon'))?.events ?? []),
    ...((await stage.session('in the evening'))?.events ?? []),
  ];
  expect(events.flatMap(({ actions }) => Object.keys(actions.stateDelta))).toEqual([
    'user:likes',
    'app:updates',
    'lastTopic',
  ]);
  expect(events.flatMap(({ actions }) => actions.removedState ?? [])).toEqual(['user:likes']);
});

test('the last message can be rewound, and a session copied to another back end', async () => {
  const sessionService = new InMemorySessionService();
  const call = { calls: [{ name: 'remember', args: { what: 'fish' } }] };
  const model = new ScriptedModel(['Soup.', call, 'Noted.']);
  const agent = new LlmAgent({ name: 'waiter', model, tools: rootAgent.tools });
  const runner = new Runner({ appName: 'app', agent, sessionService, autoCreateSession: true });
  const key = { appName: 'app', userId: 'ann', sessionId: 's' };
  for (const text of ['What is there?', 'I like fish.'])
    await runner.run({ ...key, newMessage: { parts: [{ text }] } });
  expect((await recentEvents(sessionService, key))?.events).toHaveLength(6);
  await undo(runner, key);
  expect((await sessionService.getSession(key))?.state).toEqual({ 'user:likes': 'fish', 'app:updates': 1 });

  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  const sqlite = new SqliteSessionService({ path: join(folder, 'sessions.sqlite') });
  onTestFinished(() => {
    sqlite.close();
    rmSync(folder, { recursive: true });
  });
  await copy(sessionService, key, sqlite);
  expect((await sqlite.getSession(key))?.events).toEqual((await sessionService.getSession(key))?.events);
});
