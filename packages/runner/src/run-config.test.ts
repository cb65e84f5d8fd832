/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { ConfigurationError, type Content, type RunConfig } from '@eventloom/core';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { LlmAgent } from '@eventloom/llm-agent';
import { modelEvent, ScriptedModel } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { KEY, scenario, textOf } from './fixtures/scenario.ts';

// Request ids and metadata on events

test("every event has requestId and customMetadata, including the user's and chunks, and the event's own keys win", async () => {
  const { run, stored } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'o', { partial: true });
      yield modelEvent('bot', 'one', { customMetadata: { own: 1, both: 'event' } });
    },
  });
  const customMetadata = { trace: 't', both: 'run' };
  const events = await run('hi', { runConfig: { streamingMode: 'sse', requestId: 'r1', customMetadata } });
  expect(events.map((event) => [event.requestId, event.customMetadata])).toEqual([
    ['r1', customMetadata],
    ['r1', { trace: 't', both: 'event', own: 1 }],
  ]);
  const [user] = await stored();
  expect([user?.requestId, user?.customMetadata]).toEqual(['r1', customMetadata]);
});

test('an error event has requestId and customMetadata', async () => {
  const { run, stored } = await scenario({
    async *agent() {
      throw new TypeError('broken');
    },
  });
  await expect(run('hi', { runConfig: { requestId: 'r1' } })).rejects.toThrow('broken');
  expect((await stored()).map((event) => event.requestId)).toEqual(['r1', 'r1']);
});

test('events have neither field if the run has none', async () => {
  const { run } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one');
    },
  });
  const [event] = await run();
  expect(event).not.toHaveProperty('requestId');
  expect(event).not.toHaveProperty('customMetadata');
});

// Refused options

test.each([
  [{ streamingMode: 'fast' }, 'runConfig: streamingMode: expected one of none, sse, bidi, got "fast"'],
  [{ maxLlmCalls: 1.5 }, 'runConfig: maxLlmCalls: expected an integer'],
  [{ maxParallelToolCalls: 0 }, 'runConfig: maxParallelToolCalls: expected an integer of at least 1'],
  [{ onBusy: 'wait' }, 'runConfig: onBusy: expected one of queue, reject, interrupt'],
  [{ getSessionConfig: { last: 5 } }, 'runConfig.getSessionConfig: has no option "last"'],
  [{ volume: 1 }, 'runConfig: has no option "volume"'],
  [{ streamingMode: 'bidi' }, "streamingMode 'bidi' is for runLive"],
])('%j is refused', async (runConfig, message) => {
  const { run } = await scenario({
    async *agent() {
      expect.unreachable();
    },
  });
  const error: unknown = await run('hi', { runConfig: runConfig as RunConfig }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect((error as Error).message).toContain(message);
});

test('an undefined option counts as absent', async () => {
  const { run } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one');
    },
  });
  expect(
    await run('hi', { runConfig: { streamingMode: undefined, requestId: undefined, maxLlmCalls: undefined } }),
  ).toHaveLength(1);
});

// The window.

test('getSessionConfig limits what the run reads, not what is stored', async () => {
  const model = new ScriptedModel(['one', 'two', 'three', 'four']);
  const { run, stored, platform } = await scenario({ agent: new LlmAgent({ name: 'bot', model }) });
  await run('a');
  platform.advance(1000);
  const since = platform.now() / 1000;
  await run('b');
  await run('c', { runConfig: { getSessionConfig: { numRecentEvents: 1 } } });
  await run('d', { runConfig: { getSessionConfig: { afterTimestamp: since } } });
  const texts = model.requests.map(({ request }) => request.contents.map((content) => content.parts?.[0]?.text));
  expect(texts[2]).toEqual(['two', 'c']);
  expect(texts[3]).toEqual(['b', 'two', 'c', 'three', 'd']);
  expect((await stored()).map(textOf)).toEqual(['a', 'one', 'b', 'two', 'c', 'three', 'd', 'four']);
});

test('numRecentEvents 0 shows only the message, and the next run reads everything', async () => {
  const model = new ScriptedModel(['one', 'two', 'three']);
  const { run } = await scenario({ agent: new LlmAgent({ name: 'bot', model }) });
  await run();
  await run('hi', { runConfig: { getSessionConfig: { numRecentEvents: 0 } } });
  await run();
  expect(model.requests.map(({ request }) => request.contents.length)).toEqual([1, 1, 5]);
});

test('an answer to a call outside getSessionConfig finds its call', async () => {
  const approve = new LongRunningFunctionTool({ name: 'approve', description: '', execute: () => undefined });
  const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'approve', args: {} }] }, 'Waiting.', 'Approved.']);
  const { run } = await scenario({ agent: new LlmAgent({ name: 'bot', model, tools: [approve] }) });
  await run();
  await run();
  const answer = { functionResponse: { id: 'c1', response: { ok: true } } };
  expect((await run(answer, { runConfig: { getSessionConfig: { numRecentEvents: 1 } } })).map(textOf)).toEqual([
    'Approved.',
  ]);
});

// Blobs.

const png = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };

test("saveInputBlobsAsArtifacts saves the user's data and replaces it by a text", async () => {
  const artifactService = new InMemoryArtifactService();
  const seen: (Content | undefined)[] = [];
  const { runner, run, stored } = await scenario({
    async *agent({ userContent }) {
      seen.push(userContent);
    },
    artifactService,
  });
  await run([{ text: 'See:' }, png, png], { runConfig: { saveInputBlobsAsArtifacts: true } });
  const [event] = await stored();
  const names = [1, 2].map((index) => `artifact_${event?.invocationId}_${index}`);
  expect(event?.content?.parts).toEqual([
    { text: 'See:' },
    { text: `[Uploaded Artifact: "${names[0]}"]` },
    { text: `[Uploaded Artifact: "${names[1]}"]` },
  ]);
  expect(event?.actions.artifactDelta).toEqual({ [names[0] ?? '']: 0, [names[1] ?? '']: 0 });
  expect(seen).toEqual([event?.content]);
  const saved = await runner.artifactService?.loadArtifact({ ...KEY, filename: names[0] ?? '' });
  expect(saved?.inlineData).toEqual(png.inlineData);
});

test.each([
  ['is the name of its artifact', 'cat.png', 'cat.png'],
  ['that an artifact cannot have is not used', '../cat.png', 'artifact_'],
])('saveInputBlobsAsArtifacts: the displayName of a file %s', async (_, displayName, name) => {
  const artifactService = new InMemoryArtifactService();
  const { run, stored } = await scenario({ async *agent() {}, artifactService });
  const file = { inlineData: { ...png.inlineData, displayName } };
  await run(file, { runConfig: { saveInputBlobsAsArtifacts: true } });
  expect((await stored())[0]?.content?.parts?.[0]?.text).toMatch(`[Uploaded Artifact: "${name}`);
  expect(await artifactService.listArtifactKeys(KEY)).toEqual([expect.stringMatching(`^${name}`)]);
});

test('without the option the data stays in the message', async () => {
  const { run, stored } = await scenario({ async *agent() {}, artifactService: new InMemoryArtifactService() });
  await run(png);
  expect((await stored())[0]?.content?.parts).toEqual([png]);
});

// Reading the session

test("the run's getSessionConfig is used before the runner's", async () => {
  const seen: number[] = [];
  const { run } = await scenario({
    async *agent({ session }) {
      seen.push(session.events.length);
    },
    getSessionConfig: { numRecentEvents: 1 },
  });
  for (let turn = 1; turn <= 3; turn++) await run();
  await run('hi', { runConfig: { getSessionConfig: { numRecentEvents: 2 } } });
  expect(seen).toEqual([1, 2, 2, 3]);
});

test('a runner refuses an invalid getSessionConfig', async () => {
  const getSessionConfig = { numRecentEvents: 'many' } as unknown as { numRecentEvents: number };
  await expect(scenario({ async *agent() {}, getSessionConfig })).rejects.toThrow(ConfigurationError);
});
