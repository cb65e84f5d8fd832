import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getFunctionCalls } from 'eventloom';
import { expect, onTestFinished, test } from 'vitest';
import { playLiveOffline } from '../stage/play-live-offline.ts';
import { readWav } from '../stage/wav-file.ts';
import { story } from './story.ts';

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('the second agent continues on the queue of the first, and reads its notes', async () => {
  const { stage, connections } = await playLiveOffline(story, { folder: createFolder() });
  const calls = stage.events.flatMap((event) => getFunctionCalls(event).map(({ name }) => `${event.author}: ${name}`));
  expect(calls).toEqual(['intake: note_fault', 'intake: task_completed', 'planner: task_completed']);
  expect(new Set(stage.events.map(({ invocationId }) => invocationId)).size).toBe(1);
  expect(JSON.stringify(connections[1]?.setup)).toContain('The fault is: the boiler leaks, 3 Mill Lane.');
  expect(JSON.stringify(connections[1]?.received)).toContain('Where is it?');
});

test('the audio of each agent is saved as a WAV of its length', async () => {
  const folder = createFolder();
  await playLiveOffline(story, { folder });
  // Each word takes a tenth of a second.
  expect(readWav(join(folder, 'intake.wav'))).toMatchObject({ sampleRate: 24_000, samples: { length: 9 * 4800 } });
  expect(readWav(join(folder, 'planner.wav'))).toMatchObject({ sampleRate: 24_000, samples: { length: 11 * 4800 } });
});

test('the transcript has the text and calls of each agent', async () => {
  const lines: string[] = [];
  await playLiveOffline(story, { folder: createFolder(), print: (line) => lines.push(line.trimEnd()) });
  await expect(`${lines.slice(0, -1).join('\n')}\n`).toMatchFileSnapshot('transcript.txt');
});
