import { getFunctionResponses } from 'eventloom';
import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test("three agents run in sequence and read each other's results from state", async () => {
  const { stage, model } = await playOffline(story);
  const done = stage.events.filter(({ partial }) => partial !== true);
  const { state } = (await stage.session()) ?? expect.unreachable();
  expect(done.map(({ author }) => author)).toEqual(['researcher', 'researcher', 'researcher', 'writer', 'reviewer']);
  expect(done.flatMap(({ actions }) => Object.keys(actions.stateDelta))).toEqual(['facts', 'draft', 'text']);
  expect(done.flatMap(getFunctionResponses)).toMatchObject([{ response: { result: expect.stringContaining('moon') } }]);
  const [asked] = model.requestsOf('reviewer');
  for (const key of ['facts', 'draft']) expect(asked?.config.systemInstruction).toContain(state[key]);
  expect(done.at(-1)?.content?.parts).toEqual([{ text: state['text'] }]);
});
