import { ScriptedLiveModel, type ScriptedLiveStep } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { liveScenario } from './fixtures/live-scenario.ts';

const CONNECTIONS = 12;
const SECONDS = 600;

/**
 * One second of a call, in which the client and the model speak; the client's first piece may have been sent on the previous connection.
 */
function secondOf(connection: number, second: number): ScriptedLiveStep[] {
  const inlineData = { data: `a${connection}-${second}`, mimeType: 'audio/pcm' };
  const said = {
    content: { role: 'model', parts: [{ inlineData }] },
    outputTranscription: { text: `w${connection}-${second} ` },
    ...(second % 60 === 59 ? { turnComplete: true } : {}),
  };
  return second === 0 ? [said] : [{ heard: 'blob' }, said];
}

test('in a call of two hours with a reconnect every ten minutes nothing is lost or sent twice on either side', async () => {
  const model = new ScriptedLiveModel((_, connection) => [
    ...Array.from({ length: SECONDS }, (_unused, second) => secondOf(connection, second)).flat(),
    { liveSessionResumptionUpdate: { newHandle: `h${connection}`, resumable: true } },
    connection % 2 === 0 ? { ends: 1011 } : { goAway: { timeLeftMs: 0 } },
  ]);
  const { platform, queue, stream, stored } = await liveScenario({ model, runConfig: { sessionResumption: {} } });
  const total = CONNECTIONS * SECONDS;
  let said = 0;
  const audio: string[] = [];
  let words = '';
  const say = (): void => queue.sendRealtime({ data: `u${said++}`, mimeType: 'audio/pcm' });
  say();
  for await (const event of stream) {
    const data = event.content?.parts?.[0]?.inlineData?.data;
    if (data !== undefined) {
      audio.push(data);
      platform.advance(1000);
      if (said < total) say();
    }
    if (event.outputTranscription?.finished) words += event.outputTranscription.text ?? '';
    if (event.turnComplete && audio.length === total) queue.close();
  }
  const expected = Array.from({ length: total }, (_, index) => [Math.floor(index / SECONDS), index % SECONDS] as const);
  expect(audio).toEqual(expected.map(([connection, second]) => `a${connection}-${second}`));
  expect(words).toBe(expected.map(([connection, second]) => `w${connection}-${second} `).join(''));
  const heard = model.connections.flatMap(({ sent }) => sent.map((one) => ('blob' in one ? one.blob.data : one)));
  expect(heard).toEqual(expected.map((_, index) => `u${index}`));
  expect(await stored()).toHaveLength(2 * CONNECTIONS * (SECONDS / 60));
});
