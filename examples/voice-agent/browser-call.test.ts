import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { FakeGeminiServer } from '@eventloom/testing/fake-gemini';
import { InMemoryRunner } from 'eventloom';
import { expect, onTestFinished, test } from 'vitest';
import { spokenTurn } from '../stage/speech.ts';
import { rootAgent } from './agent.ts';
import { browserCall } from './browser-call.ts';

/** A server for the agent, over the real client, and what a call over it brought. */
async function setup() {
  const gemini = await FakeGeminiServer.start();
  onTestFinished(() => gemini.close());
  const runner = new InMemoryRunner({
    appName: 'museum',
    agent: rootAgent,
    gemini: { apiKey: 'none', baseUrl: gemini.url },
  });
  const listening = await serve(createServer({ runners: [runner], onError: () => undefined }), { port: 0 });
  onTestFinished(() => listening.shutDown());
  await fetch(`${listening.url}/apps/museum/users/you/sessions/first`, { method: 'POST' });
  const heard = { played: [] as Buffer[], shown: [] as string[] };
  const call = (session: string) =>
    browserCall(
      `${listening.url.replace('http', 'ws')}/run_live?app_name=museum&user_id=you&session_id=${session}`,
      microphone(),
      {
        play: (piece) => heard.played.push(Buffer.from(piece)),
        clear: () => (heard.played.length = 0),
        show: (text) => heard.shown.push(text),
      },
    );
  return { gemini, call, heard };
}

async function* microphone() {
  for (let piece = 0; piece < 3; piece++) yield Int16Array.from({ length: 1600 }, (_, at) => at + piece);
}

test('a browser asks and hears over the WebSocket of a server', async () => {
  const { gemini, call, heard } = await setup();
  const [began] = spokenTurn('Yes');
  const heardAll = [{ heard: 'realtimeInput' }, { heard: 'realtimeInput' }, { heard: 'realtimeInput' }];
  const answer = spokenTurn('On Monday we are closed.');
  gemini.live.enqueue([...heardAll, began ?? {}, { serverContent: { interrupted: true } }, ...answer]);
  await call('first');
  // What was cut off is told as text, and not played.
  expect(heard.shown).toEqual(['Yes', 'On Monday we are closed.']);
  expect(Buffer.concat(heard.played)).toHaveLength(5 * 4800);
  const { received } = await gemini.live.connection(0);
  const audio = received.map(({ realtimeInput }) => (realtimeInput as { audio?: { data: string } }).audio?.data ?? '');
  const said = Buffer.concat(audio.map((data) => Buffer.from(data, 'base64')));
  expect(new Int16Array(new Uint8Array(said).buffer)).toEqual(
    Int16Array.from({ length: 4800 }, (_, at) => (at % 1600) + Math.floor(at / 1600)),
  );
});

test('a call that cannot be made is told', async () => {
  const { call, heard } = await setup();
  await call('another');
  expect(heard.shown).toEqual([expect.stringContaining('another')]);
});
