import { InvalidRequestError } from '@eventloom/core';
import type { MemoryOwner, NewMemory, StoredMemory } from '../../memory-driver.ts';
import { brokenDriver, brokenFound, brokenMemory, brokenService, type Mutant, textOf } from './mutant.ts';

/** A mutant with an index of other words. */
function brokenWords(
  breaks: string,
  how: string,
  change: (words: readonly string[], memory: NewMemory) => string[],
): Mutant {
  return brokenMemory(breaks, how, (memory) => ({ ...memory, words: new Set(change([...memory.words], memory)) }));
}

/** A mutant that looks for another query. */
function brokenQuery(breaks: string, how: string, change: (query: string) => string): Mutant {
  return brokenService(breaks, how, (service) => ({
    searchMemory: (request) => service.searchMemory({ ...request, query: change(request.query) }),
  }));
}

/** A mutant that puts what is found into another order. */
function brokenOrder(breaks: string, how: string, rank: (one: StoredMemory, other: StoredMemory) => number): Mutant {
  return brokenDriver(breaks, how, (driver) => ({
    search: (owner, search) => driver.search(owner, search).toSorted(rank),
  }));
}

/** The text in small letters, composed, with its accents. */
function spelt(memory: NewMemory): string {
  return textOf(memory).toLowerCase().normalize('NFKC');
}

function bare(text: string): string {
  return text.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, '');
}

function matches(text: string, pattern: RegExp): string[] {
  return text.match(pattern) ?? [];
}

export const wordMutants: readonly Mutant[] = [
  brokenWords('word.whole', 'finds the beginnings of words', (words) =>
    words.flatMap((word) => Array.from(word, (_, index) => word.slice(0, index + 1))),
  ),
  brokenWords('word.whole', 'knows Latin letters only', (words) => words.filter((word) => /^\w+$/.test(word))),
  brokenWords('word.whole', 'takes marks for gaps', (words) =>
    words.flatMap((word) => word.split(/\p{M}/u).filter(Boolean)),
  ),
  brokenWords('word.whole', 'takes _ for a letter', (_, memory) =>
    matches(textOf(memory).toLowerCase(), /[\w]+|[^\p{P}\s]+/gu),
  ),
  brokenWords('word.whole', 'leaves out what objects inherit', (words) => words.filter((word) => !(word in {}))),
  brokenWords('word.folded', 'knows small letters only', (_, memory) =>
    matches(textOf(memory).toLowerCase(), /[\p{L}\p{N}\p{M}]+/gu),
  ),
  brokenWords('word.whole', 'drops every mark', (words) => words.map((word) => word.replaceAll(/\p{M}/gu, ''))),
  brokenWords('word.bare', 'keeps accents', (_, memory) => matches(spelt(memory), /[\p{L}\p{N}\p{M}]+/gu)),
  brokenQuery('word.bare', 'keeps vowel points', (query) => query.replaceAll(/\p{Mn}/gu, 'x')),
  brokenWords('word.bare', 'takes kana for one another', (words) =>
    words.map((word) => word.normalize('NFKD').replaceAll(/[\u3099\u309a]/g, '')),
  ),
  brokenWords('word.joined', 'takes a word as it stands', (_, memory) =>
    matches(bare(textOf(memory)), /[\p{L}\p{N}]+/gu),
  ),
  brokenQuery('word.joined', 'cuts off whatever may be joined', (query) => query.replace(/^[وفبكلובכלמשה]/u, '')),
  brokenWords('word.joined', 'finds all endings of words', (words) =>
    words.flatMap((word) => Array.from(word, (_, index) => word.slice(index))),
  ),
  brokenWords('word.emoji', 'knows letters only', (words) => words.filter((word) => /[\p{L}\p{N}]/u.test(word))),
  brokenWords('word.emoji', 'takes a run of emoji for a word', (_, memory) =>
    matches(textOf(memory).toLowerCase(), /[\p{L}\p{N}]+|[^\p{L}\p{N}\s!]+/gu),
  ),
  brokenWords('word.emoji', 'makes flags of the letters of two', (words, memory) => {
    const letters = matches(textOf(memory), /\p{RI}/gu);
    return [...new Set([...words, ...letters.slice(1).map((letter, index) => `${letters[index]}${letter}`)])];
  }),
  brokenWords('word.emoji', 'tells colours apart', (_, memory) =>
    matches(textOf(memory), /\p{RI}{2}|\p{Extended_Pictographic}\p{Emoji_Modifier}?/gu),
  ),
  brokenWords('word.dense', 'takes a run for a word', (_, memory) =>
    matches(textOf(memory).toLowerCase(), /[\p{L}\p{N}\p{M}]+/gu),
  ),
  brokenWords('word.dense', 'knows pairs only', (words) => words.filter((word) => Array.from(word).length > 1)),
  brokenQuery('word.dense', 'looks for characters one by one', (query) => Array.from(query).join(' ')),
  brokenFound('word.any', 'gives the first only', (found) => found.slice(0, 1)),
  brokenQuery('word.any', 'finds everything without a word', (query) =>
    /\p{L}/u.test(query) ? query : 'owl wolf bear',
  ),
  brokenService('word.any', 'wants a word', (service) => ({
    searchMemory: (request) =>
      /\p{L}/u.test(request.query)
        ? service.searchMemory(request)
        : Promise.reject(new InvalidRequestError('query: has no words')),
  })),
  brokenQuery('word.no-operators', 'takes NOT for an operator', (query) => (query.startsWith('NOT') ? 'wolf' : query)),
  brokenQuery('word.no-operators', 'takes % for an operator', (query) => query.replace('ow%', 'owl')),
  brokenService('word.no-operators', 'wants quotes in pairs', (service) => ({
    searchMemory: (request) =>
      matches(request.query, /"/g).length % 2 === 0
        ? service.searchMemory(request)
        : Promise.reject(new InvalidRequestError('query: a quote is open')),
  })),
  brokenService('word.query-length', 'counts all words', (service) => ({
    async searchMemory(request) {
      const words = [...new Set(request.query.split(' '))];
      const both = [words.slice(0, 40), words.slice(40)].map((some) =>
        service.searchMemory({ ...request, query: some.join(' ') }),
      );
      return { memories: (await Promise.all(both)).flatMap(({ memories }) => memories) };
    },
  })),
  brokenQuery('word.query-length', 'looks at the first words only', (query) => query.split(' ').slice(0, 64).join(' ')),
  brokenService('word.query-length', 'refuses a long query', (service) => ({
    searchMemory: (request) =>
      request.query.length < 10_000
        ? service.searchMemory(request)
        : Promise.reject(new InvalidRequestError('query: is too long')),
  })),
  brokenQuery('word.bad-query-refused', 'makes text of everything', String),
];

export const rankMutants: readonly Mutant[] = [
  brokenFound('rank.more-words', 'puts the best last', (found) => found.toReversed()),
  brokenDriver('rank.more-words', 'looks for one word after the other', (driver) => ({
    search(owner, search) {
      const found = [...search.weights].flatMap((weight) =>
        driver.search(owner, { ...search, weights: new Map([weight]) }),
      );
      return [...new Map(found.map((memory) => [memory.eventId, memory])).values()].toReversed();
    },
  })),
  brokenDriver('rank.rare-words', 'counts words', (driver) => ({
    search(owner, search) {
      const weights = new Map([...search.weights.keys()].map((word) => [word, 1]));
      return driver.search(owner, { ...search, weights });
    },
  })),
  brokenDriver('rank.own-words', 'counts the words of all users', (driver) => {
    const owners = new Map<string, MemoryOwner>();
    return {
      add(key, memories) {
        owners.set(`${key.appName}/${key.userId}`, { appName: key.appName, userId: key.userId });
        driver.add(key, memories);
      },
      countWords(_, words) {
        const all = [...owners.values()].map((owner) => driver.countWords(owner, words));
        const sum = (word: string): number => all.reduce((count, { counts }) => count + (counts.get(word) ?? 0), 0);
        return {
          memories: all.reduce((count, { memories }) => count + memories, 0),
          counts: new Map(words.map((word) => [word, sum(word)])),
        };
      },
    };
  }),
  brokenDriver('rank.without-forgotten', 'counts all that was ever added', (driver) => {
    let memories = 0;
    return {
      add(key, added) {
        memories += added.length;
        driver.add(key, added);
      },
      countWords: (owner, words) => ({ ...driver.countWords(owner, words), memories }),
    };
  }),
  brokenOrder(
    'rank.once-a-word',
    'counts how often a memory has a word',
    (one, other) => textOf(other).length - textOf(one).length,
  ),
  brokenDriver('rank.once-a-word', 'counts how often the query has a word', (driver) => ({
    search: (owner, search) =>
      driver.search(owner, {
        ...search,
        weights: new Map([...search.weights].map(([word, weight]) => [word, word === 'owl' ? weight * 3 : weight])),
      }),
  })),
  brokenMemory('rank.later-first', 'knows no time', (memory) => ({ ...memory, timestamp: 0 })),
  brokenOrder('rank.later-first', 'puts the oldest first', (one, other) => one.timestamp - other.timestamp),
  brokenMemory('rank.later-first', 'knows seconds only', (memory) => ({
    ...memory,
    timestamp: Math.floor(memory.timestamp),
  })),
  brokenOrder('rank.added-later-first', 'goes by the id', (one, other) => (one.eventId < other.eventId ? 1 : -1)),
  brokenOrder('rank.added-later-first', 'goes by who was there first', () => -1),
  brokenService('rank.limit', 'gives more unless it is told', (service) => ({
    searchMemory: (request) => service.searchMemory({ limit: 20, ...request }),
  })),
  brokenFound('rank.limit', 'gives 50 at most', (found) => found.slice(0, 50)),
  brokenDriver('rank.limit', 'has no maximum', (driver) => ({
    search: (owner, search) => driver.search(owner, { ...search, limit: search.limit === 100 ? 1000 : search.limit }),
  })),
  brokenService('rank.bad-limit-refused', 'takes a bad limit for none', (service) => ({
    searchMemory: ({ limit: _limit, ...request }) => service.searchMemory(request),
  })),
  brokenService('rank.except-session', 'leaves out nothing', (service) => ({
    searchMemory: ({ exceptSessionId: _exceptSessionId, ...request }) => service.searchMemory(request),
  })),
  brokenService('rank.except-session', 'leaves out of what it found', (service) => ({
    async searchMemory({ exceptSessionId, ...request }) {
      const { memories } = await service.searchMemory(request);
      return { memories: memories.filter(({ sessionId }) => sessionId !== exceptSessionId) };
    },
  })),
];
