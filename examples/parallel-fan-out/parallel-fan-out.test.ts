import { contentText } from 'eventloom';
import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

const SCOUTS = ['trains', 'hotels', 'weather'];

test('three agents work separately, and a fourth joins their results', async () => {
  const { stage, model } = await playOffline(story);
  const done = stage.events.filter(({ partial }) => partial !== true);
  for (const name of SCOUTS) {
    expect(done.filter(({ author }) => author === name).map(({ branch }) => branch)).toEqual(
      Array(3).fill(`scouts.${name}`),
    );
    const seen = JSON.stringify(model.requestsOf(name).map(({ contents }) => contents));
    for (const other of SCOUTS.filter((each) => each !== name)) expect(seen).not.toContain(`look_up_${other}`);
  }
  expect(done.map(({ author }) => author).indexOf('planner')).toBe(done.length - 1);
  const { state } = (await stage.session()) ?? expect.unreachable();
  const [asked] = model.requestsOf('planner');
  for (const name of SCOUTS) expect(asked?.config.systemInstruction).toContain(state[name]);
  expect(contentText(done.at(-1)?.content)).not.toBe('');
});

test('all three start before one ends', async () => {
  const allAsked = Promise.withResolvers<void>();
  let asked = 0;
  const first = async (): Promise<string> => {
    if (++asked === SCOUTS.length) allAsked.resolve();
    await allAsked.promise;
    return 'found';
  };
  const scouts = Object.fromEntries(SCOUTS.map((name) => [name, [first]]));
  const { stage } = await playOffline({ ...story, replies: { ...story.replies, ...scouts } });
  expect((await stage.session())?.state).toEqual({ trains: 'found', hotels: 'found', weather: 'found' });
});
