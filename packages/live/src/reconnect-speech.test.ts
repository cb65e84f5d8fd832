import type { LiveLlmResponse, LiveRequest, RunConfig } from '@eventloom/core';
import {
  type FixedPlatform,
  fixedPlatform,
  type LiveSent,
  type ScriptedLiveScript,
  type ScriptedLiveStep,
} from '@eventloom/testing';
import { expect, test } from 'vitest';
import { liveScenario } from './fixtures/live-scenario.ts';

const END = { turnComplete: true };
const HANDLE = { liveSessionResumptionUpdate: { newHandle: 'h' } };
const LOST = { ends: 1006 };
const START = { activityStart: true } as const;
const STOP = { activityEnd: true } as const;
const RESUMED: RunConfig = { sessionResumption: {} };

function heard(text: string): LiveLlmResponse {
  return { inputTranscription: { text } };
}

function piece(data: string) {
  return { blob: { data, mimeType: 'audio/pcm' } };
}

/**
 * A client that speaks: at once, and again when it receives a handle or its transcription. Returns the input of each connection after the
 * first, without the history.
 */
async function speak(
  scripts: readonly ScriptedLiveScript[],
  said: (readonly LiveRequest[])[],
  runConfig: RunConfig = {},
  { platform = fixedPlatform(), endsAt = 1 } = {},
) {
  const { model, queue, stream } = await liveScenario({ model: scripts, runConfig, platform });
  const sayMore = (): void => {
    for (const request of said.shift() ?? []) {
      if ('content' in request) queue.sendContent(request.content);
      else if ('blob' in request) queue.sendRealtime(request.blob);
      else if ('activityStart' in request) queue.sendActivityStart();
      else queue.sendActivityEnd();
    }
  };
  sayMore();
  for await (const event of stream) {
    if (event.liveSessionResumptionUpdate || event.inputTranscription) sayMore();
    if (event.turnComplete && --endsAt === 0) queue.close();
  }
  model.assertConsumed();
  return model.connections.slice(1).map(({ sent }) => sent.filter((one) => !('history' in one)));
}

/** A connection that lasted is followed by the next at once. */
function lasts(platform: FixedPlatform): () => [] {
  return () => {
    platform.advance(10_000);
    return [];
  };
}

const HI: LiveRequest = { content: { role: 'user', parts: [{ text: 'Hi' }] } };
const A = piece('AA==');
const B = piece('BB==');
const ANSWER: ScriptedLiveScript = [{ heard: 'activityEnd' }, 'Yes', END];

test('audio of an unanswered turn is sent again after the history', async () => {
  const turn: LiveRequest[] = [START, A, B, STOP];
  expect(await speak([[{ heard: 'activityEnd' }, LOST], ANSWER], [turn])).toEqual([turn]);
});

test('audio of an unanswered turn since the handle is sent again on each connection until one answers', async () => {
  const platform = fixedPlatform();
  const lost: ScriptedLiveScript = [{ heard: 'activityEnd' }, lasts(platform), LOST];
  const turn: LiveRequest[] = [START, A, B, STOP];
  expect(await speak([[HANDLE, ...lost], lost, ANSWER], [[], turn], RESUMED, { platform })).toEqual([turn, turn]);
});

test('audio before a handle is not sent again, audio after it is', async () => {
  const lost: ScriptedLiveScript = [{ heard: 'blob' }, HANDLE, { heard: 'activityEnd' }, LOST];
  const said: LiveRequest[][] = [
    [START, A],
    [B, STOP],
  ];
  expect(await speak([lost, ANSWER], said, RESUMED)).toEqual([[B, STOP]]);
});

test('an answered turn that is open in the handle gets its activity end, and no audio again', async () => {
  const lost: ScriptedLiveScript = [{ heard: 'blob' }, HANDLE, { heard: 'activityEnd' }, 'Well, ', LOST];
  const said: LiveRequest[][] = [
    [START, A],
    [B, STOP],
  ];
  expect(await speak([lost, ANSWER], said, RESUMED)).toEqual([[STOP]]);
});

test('audio of an answered turn is not sent again', async () => {
  const lost: ScriptedLiveScript = [HANDLE, { heard: 'activityEnd' }, 'Well, ', LOST];
  expect(await speak([lost, ['Yes', END]], [[], [START, A, STOP]], RESUMED)).toEqual([[]]);
});

test('audio that the user sends while the model speaks is sent again as an own activity', async () => {
  const lost: ScriptedLiveScript = [HANDLE, { heard: 'blob' }, 'Yes?', heard('Hm'), { heard: 'activityEnd' }, LOST];
  const said: LiveRequest[][] = [[], [START, A], [B, STOP]];
  expect(await speak([lost, ANSWER], said, RESUMED)).toEqual([[START, B, STOP]]);
});

test("an interruption is not counted as an answer to the user's audio", async () => {
  const lost: ScriptedLiveScript = [HANDLE, { heard: 'activityEnd' }, { interrupted: true }, LOST];
  expect(await speak([lost, ANSWER], [[], [START, A, STOP]], RESUMED)).toEqual([[START, A, STOP]]);
});

test('audio after a partial transcription is sent again', async () => {
  const lost: ScriptedLiveScript = [{ heard: 'blob' }, heard('Are you '), { heard: 'activityEnd' }, LOST];
  const said: LiveRequest[][] = [
    [START, A],
    [B, STOP],
  ];
  expect(await speak([lost, ANSWER], said)).toEqual([[START, B, STOP]]);
});

test('audio of a turn whose transcription is in the history is not sent again', async () => {
  const lost: ScriptedLiveScript = [{ heard: 'activityEnd' }, heard('Are you open?'), LOST];
  expect(await speak([lost, ['Yes', END]], [[START, A, STOP]])).toEqual([[]]);
});

test('a handle is ignored if sessionResumption was not requested, and the next connection gets the history', async () => {
  const lost: ScriptedLiveScript = [{ heard: 'activityEnd' }, HANDLE, LOST];
  expect(await speak([lost, ANSWER], [[START, A, STOP]])).toEqual([[START, A, STOP]]);
});

test('text of a turn that ended without a reply is not sent again', async () => {
  const lost: ScriptedLiveScript = [
    HANDLE,
    { heard: 'content' },
    { generationComplete: true, turnComplete: true },
    LOST,
  ];
  expect(await speak([lost, ['Yes', END]], [[], [HI]], RESUMED, { endsAt: 2 })).toEqual([[]]);
});

/** A service that reports the number of consumed sends. */
function telling(...steps: ScriptedLiveStep[]): ScriptedLiveScript {
  return { steps, tellsConsumed: true };
}

test('a service that reports consumed sends gets the activity end of a turn that is open in its handle', async () => {
  const lost = telling({ heard: 'activityEnd' }, { ...HANDLE, consumedSends: 2 }, LOST);
  expect(await speak([lost, ANSWER], [[START, A, STOP]], RESUMED)).toEqual([[STOP]]);
});

test('the history counts as one send', async () => {
  const platform = fixedPlatform();
  const lost = telling({ heard: 'content' }, lasts(platform), LOST);
  const isLast = (sent: LiveSent): boolean => 'blob' in sent && sent.blob.data === B.blob.data;
  const resumed = telling({ heard: isLast }, { ...HANDLE, consumedSends: 2 }, lasts(platform), LOST);
  const [, last] = await speak([lost, resumed, [{ heard: 'blob' }, 'Yes', END]], [[HI, A, B]], RESUMED, { platform });
  expect(last).toEqual([B]);
});
