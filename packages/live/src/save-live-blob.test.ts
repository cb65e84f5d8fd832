import { InMemoryArtifactService } from '@eventloom/artifacts';
import { decodeBase64, encodeBase64, type Event, type SaveArtifactRequest, StorageError } from '@eventloom/core';
import { fixedPlatform, Gate, type ScriptedLiveScript } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { KEY } from '../../runner/src/fixtures/scenario.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

function setup(
  script: ScriptedLiveScript,
  artifactService?: InMemoryArtifactService,
  ...more: readonly ScriptedLiveScript[]
) {
  const options = { ...(artifactService && { artifactService }), runConfig: { saveLiveBlob: true } };
  return liveScenario({ model: [script, ...more], ...options });
}

function speech(bytes: number, rate: number) {
  return { data: encodeBase64(new Uint8Array(bytes).fill(7)), mimeType: `audio/pcm;rate=${rate}` };
}

function said(bytes: number) {
  return { content: { role: 'model', parts: [{ inlineData: speech(bytes, 24_000) }] } };
}

function summarize(event: Event): string {
  if (event.content?.parts?.[0]?.fileData) return `${event.author} file`;
  if (event.turnComplete) return 'end';
  return event.interrupted ? 'interrupted' : `${event.author} other`;
}

/** Returns the type of each saved file, and for WAV files the sample rate and the size of the samples. */
async function files(artifactService: InMemoryArtifactService, events: readonly Event[]) {
  const sizes: [string, number, number][] = [];
  for (const { actions, content } of events) {
    const [filename] = Object.keys(actions.artifactDelta);
    if (filename === undefined) continue;
    const part = await artifactService.loadArtifact({ ...KEY, filename });
    const { mimeType = '', fileUri } = content?.parts?.[0]?.fileData ?? {};
    const bytes = decodeBase64(part?.inlineData?.data ?? '');
    const view = new DataView(bytes.buffer);
    const isWav = mimeType === 'audio/wav';
    sizes.push(isWav ? [mimeType, view.getUint32(24, true), view.getUint32(40, true)] : [mimeType, 0, bytes.length]);
    if (isWav) expect(bytes.length).toBe(44 + view.getUint32(40, true));
    expect(fileUri).toMatch(/^artifact:/);
  }
  return sizes;
}

test('audio of both sides is saved as WAV files of the spoken length before the turn ends', async () => {
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
  expect(events.map(summarize)).toEqual(['interrupted', 'bot file', 'bot file', 'user file', 'end']);
  const sizes = await files(artifactService, events);
  expect(sizes).toEqual([
    ['audio/wav', 24_000, 720],
    ['audio/wav', 24_000, 96],
    ['audio/wav', 16_000, 960],
  ]);
});

test('a change of type or sample rate begins another file with its own header', async () => {
  const artifactService = new InMemoryArtifactService({ platform: fixedPlatform() });
  const { queue, stream, stored } = await setup(
    [
      { heard: 'activityEnd' },
      said(480),
      { content: { role: 'model', parts: [{ inlineData: speech(240, 16_000) }] } },
      { turnComplete: true },
    ],
    artifactService,
  );
  queue.sendRealtime(speech(320, 16_000));
  // Without a rate, live models assume this one.
  queue.sendRealtime({ ...speech(160, 0), mimeType: 'audio/pcm' });
  queue.sendRealtime(speech(80, 8000));
  queue.sendRealtime({ ...speech(10, 0), mimeType: 'audio/opus' });
  queue.sendRealtime({ ...speech(20, 0), mimeType: 'audio/opus' });
  queue.sendRealtime(speech(40, 8000));
  queue.sendActivityEnd();
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect(await files(artifactService, await stored())).toEqual([
    ['audio/wav', 16_000, 480],
    ['audio/wav', 8000, 80],
    ['audio/opus', 0, 30],
    ['audio/wav', 24_000, 480],
    ['audio/wav', 16_000, 240],
    ['audio/wav', 8000, 40],
  ]);
});

test.each([
  ['two minutes of 16 kHz', 16_000, 3_840_000],
  ['two minutes of 8 kHz', 8000, 1_920_000],
  ['six MiB, whatever the rate', 192_000, 6_291_456],
])('audio without a turn end is saved after %s', async (_, rate, bytes) => {
  const artifactService = new InMemoryArtifactService({ platform: fixedPlatform() });
  const { queue, stream, stored } = await setup([{ heard: 'activityEnd' }, { interrupted: true }], artifactService);
  const piece = bytes / 4;
  const read = (async () => {
    for await (const event of stream) if (event.interrupted) queue.close();
  })();
  for (let count = 0; count < 5; count++) {
    while (queue.chars > 0) await Promise.resolve();
    queue.sendRealtime(speech(piece, rate));
  }
  queue.sendActivityEnd();
  await read;
  const events = await stored();
  expect(events.map(summarize)).toEqual(['user file', 'interrupted', 'user file']);
  expect(await files(artifactService, events)).toEqual([
    ['audio/wav', rate, bytes],
    ['audio/wav', rate, piece],
  ]);
});

test('a slow artifact service does not delay the conversation, and all audio is saved when the turn ends', async () => {
  const gate = new Gate();
  class SlowService extends InMemoryArtifactService {
    override async saveArtifact(request: SaveArtifactRequest): Promise<number> {
      await gate.pass();
      return super.saveArtifact(request);
    }
  }
  const artifactService = new SlowService({ platform: fixedPlatform() });
  const { queue, stream, stored } = await setup(
    [
      { heard: 'blob' },
      said(480),
      { interrupted: true },
      { heard: 'activityEnd' },
      said(96),
      { generationComplete: true },
      { usageMetadata: { totalTokenCount: 1 } },
      { turnComplete: true },
    ],
    artifactService,
  );
  queue.sendRealtime(speech(320, 16_000));
  for await (const event of stream) {
    if (event.interrupted) {
      // Another rate starts another file, so the audio before is saved.
      queue.sendRealtime(speech(80, 8000));
      queue.sendActivityEnd();
    }
    if (event.usageMetadata) gate.open();
    if (event.turnComplete) queue.close();
  }
  expect((await stored()).map(summarize)).toEqual([
    'interrupted',
    'bot other',
    'bot file',
    'user file',
    'bot file',
    'user file',
    'end',
  ]);
});

test('model audio of another connection is saved to another file', async () => {
  const artifactService = new InMemoryArtifactService({ platform: fixedPlatform() });
  const lost: ScriptedLiveScript = [said(480), { ends: 1006 }];
  const { queue, stream, stored } = await setup(lost, artifactService, [said(96), { turnComplete: true }]);
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect((await files(artifactService, await stored())).map(([, , size]) => size)).toEqual([480, 96]);
});

test('empty audio is neither saved nor sent', async () => {
  const artifactService = new InMemoryArtifactService({ platform: fixedPlatform() });
  const { model, queue, stream, stored } = await setup(
    [{ heard: 'activityEnd' }, said(0), { turnComplete: true }],
    artifactService,
  );
  queue.sendRealtime(speech(0, 16_000));
  queue.sendActivityEnd();
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect((await stored()).map(summarize)).toEqual(['end']);
  expect(model.connections[0]?.sent).toEqual([{ activityEnd: true }]);
});

test.each([
  [new Error('disk full'), 'disk full'],
  [
    StorageError.of('the artifact storage', new Error('host inner')),
    'could not be saved: the artifact storage is not available; try again',
  ],
])('audio that cannot be saved is an error event, and the run continues: %s', async (failure, text) => {
  class FullService extends InMemoryArtifactService {
    override saveArtifact(): Promise<number> {
      return Promise.reject(failure);
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
  expect(events.map((event) => event.errorCode ?? summarize(event))).toEqual([
    'AUDIO_NOT_SAVED',
    'AUDIO_NOT_SAVED',
    'end',
    'user other',
    'bot other',
    'end',
  ]);
  expect(events.slice(0, 2).map(({ errorMessage }) => errorMessage)).toEqual([
    expect.stringContaining("the model's audio"),
    expect.stringContaining(text),
  ]);
});

test('model audio that is not base64 is an AUDIO_NOT_SAVED event, and the run continues', async () => {
  const broken = { data: '*', mimeType: 'audio/pcm;rate=24000' };
  const artifactService = new InMemoryArtifactService({ platform: fixedPlatform() });
  const { queue, stream, stored } = await setup(
    [{ content: { role: 'model', parts: [{ inlineData: broken }] } }, said(480), { turnComplete: true }],
    artifactService,
  );
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect((await stored()).map((event) => event.errorCode ?? summarize(event))).toEqual([
    'AUDIO_NOT_SAVED',
    'bot file',
    'end',
  ]);
});

test('saveLiveBlob without an artifact service throws a ConfigurationError', async () => {
  const { startLive, queue, stored } = await liveScenario({});
  await expect(startLive(queue, { runConfig: { saveLiveBlob: true } }).next()).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
  expect(await stored()).toEqual([]);
});
