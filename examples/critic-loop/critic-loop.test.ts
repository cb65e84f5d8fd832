import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test('the writer gets the critique, and the loop ends when the critic calls exit_loop', async () => {
  const { stage, model } = await playOffline(story);
  const done = stage.events.filter(({ partial }) => partial !== true);
  expect(done.map(({ author }) => author)).toEqual(['writer', 'critic', 'writer', 'critic', 'critic']);
  expect(done.map(({ actions }) => actions.escalate === true)).toEqual([false, false, false, false, true]);
  const { state } = (await stage.session()) ?? expect.unreachable();
  expect(model.requestsOf('writer').map(({ config }) => String(config.systemInstruction))).toEqual([
    expect.stringContaining('The critique of it: \n'),
    expect.stringContaining(`The critique of it: ${String(state['critique'])}`),
  ]);
  expect(done[2]?.content?.parts).toEqual([{ text: state['slogan'] }]);
});

test('a critic that never approves runs three times', async () => {
  const replies = { writer: ['one', 'two', 'three'], critic: ['no', 'no', 'no'] };
  const { stage } = await playOffline({ ...story, replies });
  expect(stage.events.filter(({ partial }) => partial !== true)).toHaveLength(6);
  expect((await stage.session())?.state).toEqual({ slogan: 'three', critique: 'no' });
});
