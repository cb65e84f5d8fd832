import { getFunctionResponses, stringifyContent } from 'eventloom';
import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test('the file of the user is saved, read, and used once', async () => {
  const { model, stage } = await playOffline(story);
  const [first, second, third] = model.requestsOf('trip_desk').map(({ contents }) => JSON.stringify(contents));
  expect(first).toContain('[Uploaded Artifact: \\"plan.txt\\"]');
  expect(second).toContain('Basel, two nights.');
  expect(third).not.toContain('Basel, two nights.');
  expect(stage.events.map(({ actions }) => actions.artifactDelta)).toContainEqual({ 'plan.txt': 0 });
});

test('Google Search runs in a separate request', async () => {
  const { model } = await playOffline(story);
  expect(model.requestsOf('google_search_agent').map(({ config }) => config.tools)).toEqual([[{ googleSearch: {} }]]);
  expect(JSON.stringify(model.requestsOf('trip_desk').map(({ config }) => config.tools))).not.toContain('googleSearch');
});

test('the model corrects a call that failed', async () => {
  const { stage } = await playOffline(story);
  const responses = stage.events.flatMap(getFunctionResponses).filter(({ name }) => name === 'book_hotel');
  expect(responses.map(({ response }) => response)).toMatchObject([
    { error_details: 'there is no hotel Belvue; there are Bellevue and Krone', retry_count: 1 },
    { status: 'booked', hotel: 'Bellevue' },
  ]);
  const answers = stage.events.filter(({ partial }) => partial !== true).map(stringifyContent);
  expect(answers.at(-1)).toMatch(/^Two nights/);
});

test('each step is logged', async () => {
  const lines: string[] = [];
  await playOffline(story, { print: (line) => lines.push(line) });
  expect(lines.filter((line) => line.includes('TOOL ERROR'))).toHaveLength(1);
});
