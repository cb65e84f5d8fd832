import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test('a tool and an agent each wait for an answer, and the sequence continues with it', async () => {
  const { stage, model } = await playOffline(story);
  expect((await stage.session())?.state).toEqual({ size: 'L' });
  expect(stage.events.findLast(({ content }) => content)?.content?.parts).toEqual([
    { text: 'Size L comes on Friday.' },
  ]);
  expect(model.requestsOf('clerk')).toHaveLength(2);
});
