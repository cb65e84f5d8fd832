import { InMemoryArtifactService } from '@eventloom/artifacts';
import { decodeBase64, encodeBase64, type Event } from '@eventloom/core';
import { LiveRequestQueue, LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedLiveModel, type ScriptedLiveScript } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Runner } from '../runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

async function setup(script: ScriptedLiveScript, artifactService?: InMemoryArtifactService) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const model = new ScriptedLiveModel([script]);
  const agent = new LlmAgent({ name: 'bot', model });
  const runner = new Runner({ appName: 'app', agent, sessionService, artifactService, platform });
  const queue = new LiveRequestQueue();
  const runConfig = { saveLiveBlob: true };
  const stream = runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue: queue, runConfig });
  const stored = async (): Promise<readonly Event[]> => (await sessionService.getSession(KEY))?.events ?? [];
  return { queue, stream, stored };
}

function speech(bytes: number, rate: number) {
  return { data: encodeBase64(new Uint8Array(bytes).fill(7)), mimeType: `audio/pcm;rate=${rate}` };
}

function said(bytes: number) {
  return { content: { role: 'model', parts: [{ inlineData: speech(bytes, 24_000) }] } };
}

function told(event: Event): string {
  if (event.content?.parts?.[0]?.fileData) return `${event.author} file`;
  if (event.turnComplete) return 'end';
  return event.interrupted ? 'interrupted' : `${event.author} other`;
}

test('audio of both sides is saved as files that last as long as what was said, before the turn ends', async () => {
  const artifactService = new InMemoryArtifactService({ platform: fixedPlatform() });
  const { queue, stream, stored } = await setup(
    [
      { heard: 'activityEnd' },
      said(480),
      said(240),
      { interrupted: true },
      said(96),
      { generationComplete: true },
      { turnComplete: true },
    ],
    artifactService,
  );
  for (const bytes of [320, 640]) queue.sendRealtime(speech(bytes, 16_000));
  queue.sendRealtime({ data: 'AAAA', mimeType: 'image/jpeg' });
  queue.sendActivityEnd();
  for await (const event of stream) if (event.turnComplete) queue.close();
  const events = await stored();
  expect(events.map(told)).toEqual(['bot file', 'interrupted', 'bot file', 'user file', 'end']);
  const sizes: [string, number, number][] = [];
  for (const { actions, content } of events) {
    const [filename] = Object.keys(actions.artifactDelta);
    if (filename === undefined) continue;
    const part = await artifactService.loadArtifact({ ...KEY, filename });
    const wav = decodeBase64(part?.inlineData?.data ?? '');
    const view = new DataView(wav.buffer);
    sizes.push([content?.parts?.[0]?.fileData?.mimeType ?? '', view.getUint32(24, true), view.getUint32(40, true)]);
    expect(wav.length).toBe(44 + view.getUint32(40, true));
    expect(content?.parts?.[0]?.fileData?.fileUri).toMatch(/^artifact:/);
  }
  expect(sizes).toEqual([
    ['audio/wav', 24_000, 720],
    ['audio/wav', 24_000, 96],
    ['audio/wav', 16_000, 960],
  ]);
});

test('audio that cannot be saved is told as an error, and the call goes on', async () => {
  class FullService extends InMemoryArtifactService {
    override saveArtifact(): Promise<number> {
      return Promise.reject(new Error('disk full'));
    }
  }
  const { queue, stream, stored } = await setup(
    [
      { heard: 'activityEnd' },
      said(480),
      { turnComplete: true },
      { heard: 'content' },
      { outputTranscription: { text: 'Still here.' } },
      { turnComplete: true },
    ],
    new FullService({ platform: fixedPlatform() }),
  );
  queue.sendRealtime(speech(320, 16_000));
  queue.sendActivityEnd();
  let turns = 0;
  for await (const event of stream) {
    if (!event.turnComplete) continue;
    if (++turns === 2) queue.close();
    else queue.sendContent({ role: 'user', parts: [{ text: 'hello?' }] });
  }
  const events = await stored();
  expect(events.map((event) => event.errorCode ?? told(event))).toEqual([
    'AUDIO_NOT_SAVED',
    'AUDIO_NOT_SAVED',
    'end',
    'user other',
    'bot other',
    'end',
  ]);
  expect(events.slice(0, 2).map(({ errorMessage }) => errorMessage)).toEqual([
    expect.stringContaining("the model's audio"),
    expect.stringContaining('disk full'),
  ]);
});

test('without a place for files a run that is to save them is refused', async () => {
  const { stream, stored } = await setup([]);
  await expect(stream.next()).rejects.toMatchObject({ code: 'CONFIGURATION' });
  expect(await stored()).toEqual([]);
});
