import { contentText } from 'eventloom';
import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { documents } from './agent.ts';
import { story } from './story.ts';

test('each document is read with progress, and one answer joins the findings', async () => {
  const { stage, model } = await playOffline(story);
  expect(model.requestsOf('reader')).toHaveLength(documents.length);
  const progress = stage.events.flatMap(({ nodeEvent }) =>
    nodeEvent ? [[nodeEvent.progress, nodeEvent.message]] : [],
  );
  expect(progress).toEqual([
    [33, 'read Spring'],
    [67, 'read Summer'],
    [100, 'read Autumn'],
  ]);
  const [asked] = model.requestsOf('editor');
  expect(JSON.parse(contentText(asked?.contents.at(-1)))).toEqual({
    question: 'How did the year go?',
    findings: documents.map(({ title }) => ({ title, finding: `Found in ${title}.` })),
  });
  const { events } = (await stage.session()) ?? expect.unreachable();
  expect(events.some(({ nodeEvent }) => nodeEvent)).toBe(false);
  expect(contentText(events.findLast(({ content }) => content)?.content)).toMatch(/^Bicycles did well/);
});
