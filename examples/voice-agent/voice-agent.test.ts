import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Event, getFunctionResponses } from 'eventloom';
import { expect, onTestFinished, test } from 'vitest';
import { playLiveOffline } from '../stage/play-live-offline.ts';
import type { LiveStage } from '../stage/live-stage.ts';
import { spokenTurn, toolCall } from '../stage/speech.ts';
import { readWav, writeWav } from '../stage/wav-file.ts';
import { call } from './call.ts';
import { story } from './story.ts';

const QUESTION = {
  sampleRate: 16_000,
  samples: Buffer.from(Array.from({ length: 12_346 }, (_, index) => index % 251)),
};

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('the audio file of the question is sent, and the answer is saved as a WAV of its length', async () => {
  const folder = createFolder();
  const path = join(folder, 'spoken.wav');
  writeWav(path, QUESTION);
  const { stage, connections } = await playLiveOffline(story, { args: [path], folder });
  const heard = (connections[0]?.received ?? []).map(({ realtimeInput }) => realtimeInput as Record<string, unknown>);
  expect(heard[0]).toEqual({ activityStart: {} });
  const audio = heard.flatMap((input) => (input?.['audio'] ? [input['audio'] as Record<string, string>] : []));
  expect(audio.every(({ mimeType }) => mimeType === 'audio/pcm;rate=16000')).toBe(true);
  expect(Buffer.concat(audio.map(({ data = '' }) => Buffer.from(data, 'base64')))).toEqual(QUESTION.samples);
  // Each word takes a tenth of a second.
  const answer = readWav(join(folder, 'answer.wav'));
  expect([answer.sampleRate, answer.samples.length]).toEqual([24_000, 10 * 4800]);
  expect(stage.events.flatMap(getFunctionResponses)).toMatchObject([{ response: { open: '10:00 to 18:00' } }]);
});

test('interrupted audio is not played', async () => {
  const folder = createFolder();
  const [began] = spokenTurn('Yes');
  const interrupted = { serverContent: { interrupted: true } };
  const steps = [{ heard: /activityEnd/ }, began ?? {}, interrupted, ...spokenTurn('On Monday we are closed.')];
  await playLiveOffline({ ...story, connections: [steps] }, { folder });
  expect(readWav(join(folder, 'answer.wav')).samples).toHaveLength(5 * 4800);
});

test('a microphone that fails ends the live run', async () => {
  const pieces = async function* () {
    yield 'AAAA';
    throw new TypeError('unplugged');
  };
  const tell = async ({ runner }: LiveStage): Promise<void> => {
    const speaker = { play: () => undefined, clear: () => undefined };
    for await (const _ of call(runner, { mimeType: 'audio/pcm;rate=16000', pieces: pieces() }, speaker)) continue;
  };
  await expect(playLiveOffline({ ...story, connections: [[]], tell })).rejects.toThrow('unplugged');
});

test('the transcript has both speakers', async () => {
  const lines: string[] = [];
  await playLiveOffline(story, { folder: createFolder(), print: (line) => lines.push(line) });
  expect(lines.map((line) => line.replace(/ +/g, ' '))).toEqual([
    'you Are you open on Sunday?',
    expect.stringMatching(/^museum → opening_hours/),
    expect.stringMatching(/^museum ← opening_hours/),
    'museum Yes, on Sunday we are open from ten to six.',
    expect.stringContaining('answer.wav'),
  ]);
});

test('the events of a live run come in order, and whole ones are stored', async () => {
  const [first, second] = spokenTurn('Yes, on Sunday.');
  const steps = [
    { heard: /activityEnd/ },
    { serverContent: { inputTranscription: { text: 'Are you ' } } },
    { serverContent: { inputTranscription: { text: 'open on Sunday?' } } },
    toolCall('call-1', 'opening_hours', { day: 'Sunday' }),
    { heard: 'toolResponse' },
    first ?? {},
    second ?? {},
    { serverContent: { interrupted: true } },
    { serverContent: { inputTranscription: { text: 'And when?' } } },
    ...spokenTurn('From ten.').slice(0, -1),
    { usageMetadata: { promptTokenCount: 210, responseTokenCount: 40, totalTokenCount: 250 } },
    { serverContent: { turnComplete: true } },
  ];
  const { stage } = await playLiveOffline({ ...story, connections: [steps] }, { folder: createFolder() });
  const key = { appName: stage.runner.appName, userId: 'you', sessionId: 'first' };
  const session = await stage.runner.sessionService.getSession(key);
  const stored = new Set(session?.events.map(({ id }) => id));
  const lines = stage.events.map((event) => describe(event, stored.has(event.id)));
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('events.txt');
});

/** Formats an event as one line: its author, its content, and whether it is stored. */
function describe(event: Event, isStored: boolean): string {
  const { author, content, inputTranscription, outputTranscription, usageMetadata } = event;
  const [{ inlineData, functionCall, functionResponse } = {}] = content?.parts ?? [];
  const summary = {
    ...(inlineData && {
      inlineData: `${inlineData.mimeType}, ${Buffer.from(inlineData.data ?? '', 'base64').length} bytes`,
    }),
    ...(functionCall && { functionCall: { name: functionCall.name, args: functionCall.args } }),
    ...(functionResponse && { functionResponse: { name: functionResponse.name, response: functionResponse.response } }),
    ...(inputTranscription && { inputTranscription }),
    ...(outputTranscription && { outputTranscription }),
    ...(usageMetadata && { usageMetadata }),
    ...(event.interrupted && { interrupted: true }),
    ...(event.turnComplete && { turnComplete: true }),
    ...(event.partial && { partial: true }),
  };
  return `${isStored ? 'stored' : '      '}  ${author.padEnd(6)}  ${JSON.stringify(summary)}`;
}
