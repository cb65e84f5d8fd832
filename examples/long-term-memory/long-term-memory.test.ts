import { getFunctionResponses } from 'eventloom';
import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test('text of one session is found in the next one', async () => {
  const { stage, model } = await playOffline(story);
  const [found] = stage.events.flatMap(getFunctionResponses);
  expect(found?.response?.['memories']).toContainEqual(
    expect.objectContaining({ author: 'user', content: 'I cannot eat nuts.' }),
  );
  const [, asked] = model.requestsOf('concierge');
  expect(JSON.stringify(asked?.contents)).not.toContain('nuts');
  expect((await stage.session('in June'))?.events[0]?.content?.parts).toEqual([{ text: 'Where shall I have dinner?' }]);
});
