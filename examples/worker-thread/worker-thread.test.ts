import { getFunctionResponses } from 'eventloom';
import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test('the thread reports progress, and its count is the result', async () => {
  const { stage } = await playOffline(story);
  const responses = stage.events.flatMap((event) =>
    getFunctionResponses(event).map(({ response }) => [event.partial === true, response]),
  );
  expect(responses).toEqual([
    ...[25_000, 50_000, 75_000, 100_000].map((number) => [
      true,
      { output: { progress: `${number} of 100000 looked at` } },
    ]),
    [false, { count: 9592 }],
  ]);
});

test('an error on the thread goes to the model', async () => {
  const call = { calls: [{ name: 'count_primes', args: { limit: 1 } }] };
  const { stage } = await playOffline({ ...story, replies: { mathematician: [call, 'I cannot.'] } });
  expect(stage.events.flatMap(getFunctionResponses)).toMatchObject([
    { response: { error: expect.stringContaining('limit') } },
  ]);
});
