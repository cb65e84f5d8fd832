import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test('the agent of the README adds with its tool and keeps the sum', async () => {
  const { stage } = await playOffline(story);
  expect((await stage.session())?.state).toEqual({ lastSum: 42 });
  expect(stage.events.at(-1)?.content?.parts).toEqual([{ text: '17 plus 25 is 42.' }]);
});
