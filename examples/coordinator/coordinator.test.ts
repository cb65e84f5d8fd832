import { contentText, isFinalResponse } from 'eventloom';
import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test('a specialist keeps the conversation until the subject changes', async () => {
  const { stage, model } = await playOffline(story);
  const transfers = stage.events.flatMap(({ author, actions: { transferToAgent } }) =>
    transferToAgent === undefined ? [] : [`${author} → ${transferToAgent}`],
  );
  expect(transfers).toEqual(['reception → billing', 'billing → support', 'support → reception']);
  const answers = stage.events.filter((event) => isFinalResponse(event) && contentText(event.content) !== '');
  expect(answers.map(({ author }) => author)).toEqual(['billing', 'billing', 'support', 'reception']);
  // The second message went directly to billing.
  expect(model.requestsOf('reception')).toHaveLength(2);
  const [, asked] = model.requestsOf('support');
  expect(JSON.stringify(asked?.contents)).toContain('Invoice 2071');
});
