import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { InMemorySessionService } from 'eventloom';
import { expect, onTestFinished, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { UsageError } from '../stage/usage-error.ts';
import { openQuestions } from './open-questions.ts';
import { story } from './story.ts';

/** Plays parts of the story one by one, and opens the file again for each, as later processes would. Returns the last session. */
async function playParts(replies: typeof story.replies, ...parts: readonly string[][]) {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  let played;
  for (const args of parts) {
    const sessionService = new SqliteSessionService({ path: join(folder, 'sessions.sqlite') });
    const { stage } = await playOffline({ ...story, replies }, { args, sessionService });
    played = await stage.session();
    sessionService.close();
  }
  return played ?? expect.unreachable();
}

test('a large refund waits for approval before anything is paid', async () => {
  const { events, state } = await playParts(story.replies, []);
  expect(openQuestions(events)).toMatchObject([{ args: { originalFunctionCall: { name: 'refund' } } }]);
  expect(state).toEqual({});
});

test('a refund that a later process approves is paid', async () => {
  const { events, state } = await playParts(story.replies, [], ['approve']);
  expect([openQuestions(events), state]).toEqual([[], { refunded: { customer: 'Ann', euros: 120 } }]);
});

test('a refund that a later process rejects is not paid', async () => {
  const { events, state } = await playParts(story.replies, [], ['reject']);
  expect([openQuestions(events), state]).toEqual([[], {}]);
  expect(events.at(-1)?.content?.parts).toEqual([{ text: 'I did not pay anything back.' }]);
});

test('an answer without a request is refused', async () => {
  expect(
    (await playParts(story.replies, [], ['approve'], ['approve'])).events.filter(({ author }) => author === 'user'),
  ).toHaveLength(2);
});

test.each([[['aprove']], [['approve', 'please']]])(
  '%j is not accepted as an answer, and the question stays open',
  async (args) => {
    const sessionService = new InMemorySessionService();
    const { stage } = await playOffline(story, { sessionService });
    const playing = playOffline(story, { args, sessionService });
    await expect(playing).rejects.toThrow(UsageError);
    await expect(playing).rejects.toThrow('nothing, or approve, or reject');
    expect(openQuestions((await stage.session())?.events ?? [])).toHaveLength(1);
  },
);

test('a small refund is paid immediately', async () => {
  const call = { calls: [{ name: 'refund', args: { customer: 'Ben', euros: 50 } }] };
  const { state } = await playParts({ cashier: [call, 'Done.'] }, []);
  expect(state).toEqual({ refunded: { customer: 'Ben', euros: 50 } });
});
