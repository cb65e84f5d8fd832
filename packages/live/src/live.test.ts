import { type BaseLiveRequestQueue, ConfigurationError, type LiveRun, LlmCallLimitError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { END } from './fixtures/live-messages.ts';
import { liveScenario } from './fixtures/live-scenario.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { live } from './live.ts';
import { LiveRequestQueue } from './live-request-queue.ts';

function start(liveRequestQueue: BaseLiveRequestQueue, runConfig: object): LiveRun {
  const host = { appName: 'app', artifactService: undefined };
  return live().claimQueue({ userId: 'u', sessionId: 's', liveRequestQueue, runConfig }, host);
}

test.each([
  [{ responseModalities: ['TEXT', 'AUDIO'] }, 'runConfig: responseModalities: expected a list of one, AUDIO or TEXT'],
  [{ responseModalities: ['VIDEO'] }, 'runConfig: responseModalities: expected a list of one, AUDIO or TEXT'],
  [{ responseModalities: 'TEXT' }, 'runConfig: responseModalities: expected a list of one, AUDIO or TEXT'],
  [{ liveReconnect: 1 }, 'runConfig: liveReconnect: expected true or false, got the number 1'],
  [{ speechConfig: 'Kore' }, 'runConfig: speechConfig: expected an object, got a string'],
  [
    { saveLiveBlob: true },
    'runConfig.saveLiveBlob: saving audio needs an artifactService; write artifactService: new InMemoryArtifactService() in the options of the runner',
  ],
  [{ resumable: true }, 'runLive: a live run cannot be resumed'],
])('a run with %o is refused, and its queue can serve another run', (runConfig, message) => {
  const queue = new LiveRequestQueue();
  expect(() => start(queue, runConfig)).toThrow(ConfigurationError);
  expect(() => start(queue, runConfig)).toThrow(message);
  expect(start(queue, {}).queue).toBe(queue);
  expect(() => start(queue, {})).toThrow('the liveRequestQueue serves another run, or served one');
});

test('runLive of any runner throws for a queue that serves a run', () => {
  const queue = new LiveRequestQueue();
  start(queue, {});
  expect(() => start(queue, {})).toThrow(ConfigurationError);
});

test('runLive throws for a value that is not a queue', () => {
  const queue: object = {};
  expect(() => start(queue as LiveRequestQueue, {})).toThrow('runLive: liveRequestQueue: expected a LiveRequestQueue');
});

test("a live run uses its own run config before the runner's defaults, and ignores a resumable default", async () => {
  const speechConfig = { languageCode: 'de' };
  const runConfig = { speechConfig, responseModalities: ['TEXT'] } as const;
  const { model, queue, startLive } = await liveScenario({ model: [['Hallo', END]], runConfig, resumable: true });
  const stream = startLive(queue, { runConfig: { speechConfig: undefined, enableAffectiveDialog: true } });
  await readTurns(stream, queue);
  expect(model.connections[0]?.request.config).toMatchObject({
    speechConfig,
    responseModalities: ['TEXT'],
    enableAffectiveDialog: true,
  });
});

test.each([
  [{ maxLlmCalls: 1 }, {}],
  [undefined, { bounds: { maxLlmCalls: 1 } }],
])('model calls of a live run are limited by %o or %o', async (runConfig, params) => {
  const { model, queue, startLive } = await liveScenario({
    model: [['one', { ends: 1006 }], ['never']],
    runConfig,
    delays: [],
  });
  await expect(readTurns(startLive(queue, params), queue)).rejects.toBeInstanceOf(LlmCallLimitError);
  expect(model.attempts).toBe(1);
});
