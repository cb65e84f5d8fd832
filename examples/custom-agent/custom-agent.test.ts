import { contentText } from 'eventloom';
import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test('the desk answers known questions itself and runs the clerk for others', async () => {
  const { stage, model } = await playOffline(story);
  const done = stage.events.filter(({ partial }) => partial !== true);
  expect(done.map(({ author, content }) => [author, contentText(content)])).toEqual([
    ['order_desk', 'Order A-1001 leaves tomorrow.'],
    ['clerk', expect.any(String)],
    ['order_desk', 'Order A-1002 is at your door.'],
  ]);
  const [asked, ...more] = model.requestsOf('clerk');
  expect(asked?.config.systemInstruction).toContain('asked for last: A-1001');
  expect(more).toEqual([]);
});
