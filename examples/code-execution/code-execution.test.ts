import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test("the model's code is run, and the model answers from its output", async () => {
  const { stage, model } = await playOffline(story);
  const parts = stage.events.flatMap(({ content, partial }) => (partial === true ? [] : (content?.parts ?? [])));
  const [code, result, answer] = parts;
  expect(code?.executableCode?.code).toContain('toSorted');
  expect(result?.codeExecutionResult).toMatchObject({ outcome: 'OUTCOME_OK', output: 'median 14 mean 18.8' });
  expect(answer?.text).toContain('18.8');
  expect(JSON.stringify(model.requestsOf('analyst')[1]?.contents)).toContain('median 14 mean 18.8');
});
