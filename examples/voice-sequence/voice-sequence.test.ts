import { getFunctionCalls } from 'eventloom';
import { expect, test } from 'vitest';
import { playLiveOffline } from '../stage/play-live-offline.ts';
import { story } from './story.ts';

test('the second agent goes on in the same call when the first is done, and knows what it noted', async () => {
  const { stage, connections } = await playLiveOffline(story);
  const calls = stage.events.flatMap((event) => getFunctionCalls(event).map(({ name }) => `${event.author}: ${name}`));
  expect(calls).toEqual(['intake: note_fault', 'intake: task_completed', 'planner: task_completed']);
  expect(new Set(stage.events.map(({ invocationId }) => invocationId)).size).toBe(1);
  expect(JSON.stringify(connections[1]?.setup)).toContain('The fault is: the boiler leaks, 3 Mill Lane.');
  expect(JSON.stringify(connections[1]?.received)).toContain('Where is it?');
});

test('what each agent said is saved as a WAV that lasts as long', async () => {
  const { stage } = await playLiveOffline(story);
  const { runner } = stage;
  const lengths = stage.events.map(async ({ author, actions }) => {
    const [filename] = Object.keys(actions.artifactDelta);
    if (filename === undefined) return [];
    const key = { appName: runner.appName, userId: 'you', sessionId: 'first', filename };
    const artifact = await runner.artifactService?.loadArtifact(key);
    return [[author, Buffer.from(artifact?.inlineData?.data ?? '', 'base64').length]];
  });
  // A tenth of a second a word, after the header.
  expect((await Promise.all(lengths)).flat()).toEqual([
    ['intake', 44 + 9 * 4800],
    ['planner', 44 + 11 * 4800],
  ]);
});
