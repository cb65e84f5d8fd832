import { InMemoryArtifactService } from '@eventloom/artifacts';
import { encodeBase64, type Event, LiveConnectionError, type RunConfig } from '@eventloom/core';
import { fixedPlatform, type ScriptedLiveScript } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, handle, LOST, RESUMED } from './fixtures/live-messages.ts';
import { readAll } from './fixtures/live-turns.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

const REFUSED = new LiveConnectionError('refused', { closeCode: 1007, isRetryable: false });

async function setup(
  scripts: readonly ScriptedLiveScript[] | ((index: number) => ScriptedLiveScript),
  runConfig: RunConfig = {},
) {
  const delays: number[] = [];
  const artifactService = new InMemoryArtifactService({ platform: fixedPlatform() });
  const played = typeof scripts === 'function' ? (_: unknown, index: number) => scripts(index) : scripts;
  const run = await liveScenario({ model: played, artifactService, runConfig, delays });
  return { ...run, delays, advance: (ms: number) => run.clock.advance(ms) };
}

function pcm(rate: number) {
  return { data: encodeBase64(new Uint8Array(320).fill(7)), mimeType: `audio/pcm;rate=${rate}` };
}

function summarize(event: Event): string {
  const { author, content, inputTranscription, outputTranscription, errorCode, turnComplete, interrupted } = event;
  if (errorCode !== undefined) return errorCode;
  const [part] = content?.parts ?? [];
  const text = inputTranscription?.text ?? outputTranscription?.text ?? part?.text ?? part?.fileData?.mimeType;
  if (text === undefined) return turnComplete ? 'end' : 'other';
  return `${author}: ${text}${interrupted ? ' …' : ''}`;
}

const SAID: ScriptedLiveScript = [
  { heard: 'blob' },
  handle('h'),
  { inputTranscription: { text: 'My address is' } },
  { outputTranscription: { text: 'I not' } },
  { content: { role: 'model', parts: [{ inlineData: pcm(24_000) }] } },
  'note',
];

test.each([
  ['lost and not made again', [[...SAID, { ends: 1006 }], LOST, LOST, LOST, LOST, LOST], LOST],
  ['refused what it was sent', [[...SAID, { ends: REFUSED }]], REFUSED],
] as const)('a run whose connection was %s stores what was said so far, and the audio', async (_, scripts, error) => {
  const { queue, stream, stored } = await setup([...scripts], { ...RESUMED, saveLiveBlob: true });
  queue.sendRealtime(pcm(16_000));
  await expect(readAll(stream)).rejects.toBe(error);
  expect((await stored()).map(summarize)).toEqual([
    'user: My address is',
    'bot: note …',
    'bot: I not …',
    'bot: audio/wav',
    'user: audio/wav',
    'LIVE_CONNECTION',
  ]);
});

test.each([
  ['an error', { errorCode: 'RESOURCE_EXHAUSTED', errorMessage: 'no' }],
  ['that it cannot be resumed', { liveSessionResumptionUpdate: { resumable: false } }],
  ['an error and a word', { errorCode: 'UNAVAILABLE', content: { role: 'model', parts: [{ text: 'Sorry' }] } }],
  ['what it counted', { usageMetadata: { totalTokenCount: 1 } }],
])('a service that sends only %s and closes is connected to five more times', async (_, said) => {
  const { model, stream, delays } = await setup(() => [said, { ends: 1011 }], RESUMED);
  await expect(readAll(stream)).rejects.toMatchObject({ code: 'LIVE_CONNECTION', closeCode: 1011 });
  expect(model.attempts).toBe(6);
  expect(delays).toEqual([250, 500, 1000, 2000]);
});

test('a service that ends connections immediately is connected to five more times', async () => {
  const { model, stream, delays } = await setup(() => [{ goAway: { timeLeftMs: 0 } }], RESUMED);
  await expect(readAll(stream)).rejects.toMatchObject({ code: 'LIVE_CONNECTION' });
  expect(model.attempts).toBe(6);
  expect(delays).toEqual([250, 500, 1000, 2000]);
});

test('a service that replies and closes is reconnected with a delay before each connection but the first', async () => {
  const { queue, stream, delays } = await setup((index) => [`${index}`, END, { ends: 1011 }], RESUMED);
  let turns = 0;
  for await (const event of stream) if (event.turnComplete && ++turns === 10) queue.close();
  expect(delays).toEqual(Array.from({ length: 8 }, () => 250));
});

test('connections that last count as successful without a reply, and the next is opened immediately', async () => {
  const { model, queue, stream, delays, advance } = await setup(
    (index) => [
      () => {
        advance(600_000);
        return index === 9 ? ['Still there?', END] : [];
      },
      { ends: 1006 },
    ],
    RESUMED,
  );
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect(model.attempts).toBe(10);
  expect(delays).toEqual([]);
});

test('a turn ends with its lost connection, and the next connection begins another turn', async () => {
  const { queue, stream, stored, model } = await setup(
    [
      [{ heard: 'content' }, handle('h'), { outputTranscription: { text: 'I was say' } }, { ends: 1006 }],
      [{ goAway: { timeLeftMs: 0 } }],
      [{ heard: 'content' }, { outputTranscription: { text: 'Sure.' } }, END],
    ],
    RESUMED,
  );
  queue.sendContent({ role: 'user', parts: [{ text: 'hi' }] });
  // The connection at its time limit is replaced, because neither side speaks any more.
  void model.connection(2).then(() => queue.sendContent({ role: 'user', parts: [{ text: 'go on' }] }));
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect((await stored()).map(summarize)).toEqual(['user: hi', 'bot: I was say …', 'user: go on', 'bot: Sure.', 'end']);
});

test('the error event has the code that the service gave for the end of its connections', async () => {
  const error = new LiveConnectionError('quota', { isRetryable: false, errorCode: 'RESOURCE_EXHAUSTED' });
  const { stream, stored } = await setup([error]);
  await expect(readAll(stream)).rejects.toBe(error);
  expect((await stored()).map(summarize)).toEqual(['RESOURCE_EXHAUSTED']);
});
