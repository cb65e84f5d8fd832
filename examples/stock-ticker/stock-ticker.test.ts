import { getFunctionResponses } from 'eventloom';
import { expect, test } from 'vitest';
import { playLiveOffline } from '../stage/play-live-offline.ts';
import { story } from './story.ts';

test('the model gets prices during the conversation until it stops the tool', async () => {
  const { stage, connections } = await playLiveOffline(story);
  const heard = (connections[0]?.received ?? []).map((message) => JSON.stringify(message));
  const at = (words: string): number => heard.findIndex((message) => message.includes(words));
  expect(at('101.2')).toBeGreaterThan(at('Watch EVL'));
  expect(at('What do they make')).toBeGreaterThan(at('101.2'));
  expect(at('99.8')).toBeGreaterThan(at('What do they make'));
  const responses = stage.events.flatMap(getFunctionResponses).map(({ response }) => response);
  expect(responses.at(-1)).toEqual({ status: 'stopped watch_price' });
  const turns = stage.events.flatMap(({ outputTranscription }) =>
    outputTranscription?.finished ? [outputTranscription.text] : [],
  );
  expect(turns).toEqual([
    'EVL begins at 101.20.',
    'They make looms.',
    'EVL is below 100: it is at 99.80.',
    'I have stopped.',
  ]);
});
