import { getFunctionResponses } from 'eventloom';
import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test('the editor calls the checker twice concurrently, streams its events, and answers the user', async () => {
  const { stage, model } = await playOffline(story);
  const inner = stage.events.filter(({ author }) => author === 'fact_checker');
  expect(new Set(inner.map(({ branch }) => branch)).size).toBe(2);
  expect(inner.every(({ branch }) => branch?.startsWith('fact_checker@'))).toBe(true);
  expect(inner.filter(({ partial, content }) => partial === true && content?.parts?.[0]?.text)).toHaveLength(4);
  const own = stage.events.filter(({ author, partial }) => author === 'editor' && partial !== true);
  expect(own.flatMap(getFunctionResponses).map(({ response }) => response)).toEqual([
    { result: 'TRUE: it is 330 m high.' },
    { result: 'FALSE: it is 157 m high.' },
  ]);
  expect(own.at(-1)).toBe(stage.events.at(-1));
  // The editor does not see the intermediate steps of the checker.
  const seen = model.requestsOf('editor').map(({ contents }) => contents);
  expect(JSON.stringify(seen)).not.toContain('look_up_height');
  expect((await stage.session())?.state).toEqual({ lastChecked: 'Cologne Cathedral' });
});
