import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { contentText, InMemorySessionService } from 'eventloom';
import { expect, onTestFinished, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { UsageError } from '../stage/usage-error.ts';
import { rootAgent } from './agent.ts';
import { story } from './story.ts';

/** Plays parts of the story one by one, and opens the file again for each, as later processes would. */
async function playParts(...parts: readonly (readonly string[])[]) {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const said: string[] = [];
  const hints: string[] = [];
  let asked = 0;
  let session;
  for (const args of parts) {
    const sessionService = new SqliteSessionService({ path: join(folder, 'sessions.sqlite') });
    let hint = '';
    const print = (line: string): void => void (hint = line.startsWith('The run waits.') ? line : hint);
    const { stage, model } = await playOffline(story, { args, sessionService, print });
    hints.push(hint);
    asked += model.requestsOf('writer').length;
    said.push(
      ...stage.events
        .filter(({ content, partial }) => content && partial !== true)
        .map(({ author, content }) => `${author}: ${contentText(content)}`),
    );
    session = await stage.session();
    sessionService.close();
  }
  return { said: said.filter((line) => !line.endsWith(': ')), hints, asked, session: session ?? expect.unreachable() };
}

test('the critic sends a draft back, and the editor is asked about the next one', async () => {
  const { said, session } = await playParts([]);
  expect(said).toEqual([
    'writer: We open a library.',
    'critic: {"good":false,"advice":"Say when."}',
    'writer: Our library opens on Monday.',
    'critic: {"good":true,"advice":""}',
  ]);
  const [run] = rootAgent.history({ events: session.events, invocationId: session.events[0]?.invocationId ?? '' });
  expect(run).toMatchObject({
    status: 'waiting',
    state: { draft: 'Our library opens on Monday.', rounds: 2 },
    questions: [{ node: 'editor', payload: { draft: 'Our library opens on Monday.' } }],
  });
});

test('the draft is published and not written again when a later process approves it', async () => {
  const { said, asked } = await playParts([], ['approve']);
  expect(said.at(-1)).toBe('newsroom: PUBLISHED: Our library opens on Monday.');
  expect(asked).toBe(2);
});

test("the writer gets the editor's wishes, and the editor is asked again", async () => {
  const { said, hints, session } = await playParts([], ['revise', 'Mention the party.'], ['approve']);
  expect(said).toContain('writer: Our library opens on Monday. (Mention the party.)');
  expect(said.at(-1)).toBe('newsroom: PUBLISHED: Our library opens on Monday. (Mention the party.)');
  expect(hints).toEqual([expect.stringContaining('approve'), hints[0], '']);
  const [run] = rootAgent.history({ events: session.events, invocationId: session.events[0]?.invocationId ?? '' });
  expect(run).toMatchObject({ status: 'finished', state: { wishes: ['Mention the party.'], rounds: 3 } });
});

test.each([[['maybe']], [['approve', 'Mention the cake.']], [['revise', 'Mention', 'the', 'cake.']]])(
  '%j is refused with the allowed words, and the question stays open',
  async (args) => {
    const sessionService = new InMemorySessionService();
    const { stage } = await playOffline(story, { sessionService });
    const before = await stage.session();
    const playing = playOffline(story, { args, sessionService });
    await expect(playing).rejects.toThrow(UsageError);
    await expect(playing).rejects.toThrow('nothing, or approve, or revise, or revise <what to change>');
    expect(await stage.session()).toEqual(before);
  },
);
