import { expect, test } from 'vitest';
import { createEvent, createSession, InMemoryMemoryService } from './index.ts';

const KEY = { appName: 'app', userId: 'ann' };

/** Remembers this number of questions about tea, each with an answer, in one session. */
async function remember(count: number): Promise<InMemoryMemoryService> {
  const service = new InMemoryMemoryService();
  const events = Array.from({ length: count }, (_, index) => [
    createEvent({
      id: `q${index}`,
      author: 'ann',
      timestamp: 1,
      content: { parts: [{ text: `Which tea ${index}?` }] },
    }),
    createEvent({ id: `a${index}`, author: 'host', timestamp: 1, content: { parts: [{ text: `Tea ${index}.` }] } }),
  ]).flat();
  await service.addSessionToMemory(createSession({ ...KEY, id: 's', events }));
  return service;
}

const textsOf = async (service: InMemoryMemoryService, query: string, limit?: number): Promise<unknown[]> =>
  (await service.searchMemory({ ...KEY, query, limit })).memories.map(({ content }) => content.parts?.[0]?.text);

test('a search without a limit gives all memories with a word of the query, the oldest first', async () => {
  const texts = await textsOf(await remember(60), 'tea');
  expect(texts).toHaveLength(120);
  expect(texts.slice(0, 3)).toEqual(['Which tea 0?', 'Tea 0.', 'Which tea 1?']);
});

test('a search with a limit gives the best memories, the oldest first', async () => {
  expect(await textsOf(await remember(20), 'which tea 7', 2)).toEqual(['Which tea 7?', 'Tea 7.']);
});
