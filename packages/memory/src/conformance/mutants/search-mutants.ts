import { InvalidRequestError } from '@eventloom/core';
import type { MemoryOwner, NewMemory, StoredMemory } from '../../memory-driver.ts';
import { brokenDriver, brokenFound, brokenMemory, brokenService, type MemoryMutant, textOf } from './mutant.ts';

/** Creates a mutant whose index has other words. */
function brokenWords(
  breaks: string,
  how: string,
  change: (words: readonly string[], memory: NewMemory) => string[],
): MemoryMutant {
  return brokenMemory(breaks, how, (memory) => ({ ...memory, words: new Set(change([...memory.words], memory)) }));
}

/** Creates a mutant that searches for another query. */
function brokenQuery(breaks: string, how: string, change: (query: string) => string): MemoryMutant {
  return brokenService(breaks, how, (service) => ({
    searchMemory: (request) => service.searchMemory({ ...request, query: change(request.query) }),
  }));
}

/** Creates a mutant that changes the order of found memories. */
function brokenOrder(
  breaks: string,
  how: string,
  rank: (one: StoredMemory, other: StoredMemory) => number,
): MemoryMutant {
  return brokenDriver(breaks, how, (driver) => ({
    search: (owner, search) => driver.search(owner, search).toSorted(rank),
  }));
}

/** Returns the text in lower case, composed, with its accents. */
function spelt(memory: NewMemory): string {
  return textOf(memory).toLowerCase().normalize('NFKC');
}

function bare(text: string): string {
  return text.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, '');
}

function matches(text: string, pattern: RegExp): string[] {
  return text.match(pattern) ?? [];
}

export const wordMutants: readonly MemoryMutant[] = [
  brokenWords('word.whole', 'finds prefixes of words', (words) =>
    words.flatMap((word) => Array.from(word, (_, index) => word.slice(0, index + 1))),
  ),
  brokenWords('word.whole', 'indexes only Latin letters', (words) => words.filter((word) => /^\w+$/.test(word))),
  brokenWords('word.whole', 'separates words at combining marks', (words) =>
    words.flatMap((word) => word.split(/\p{M}/u).filter(Boolean)),
  ),
  brokenWords('word.whole', 'treats _ as a letter', (_, memory) =>
    matches(textOf(memory).toLowerCase(), /[\w]+|[^\p{P}\s]+/gu),
  ),
  brokenWords('word.whole', 'leaves out names that objects inherit', (words) => words.filter((word) => !(word in {}))),
  brokenWords('word.folded', 'does not fold capital letters', (_, memory) =>
    matches(textOf(memory).toLowerCase(), /[\p{L}\p{N}\p{M}]+/gu),
  ),
  brokenWords('word.whole', 'removes every combining mark', (words) =>
    words.map((word) => word.replaceAll(/\p{M}/gu, '')),
  ),
  brokenWords('word.bare', 'keeps accents', (_, memory) => matches(spelt(memory), /[\p{L}\p{N}\p{M}]+/gu)),
  brokenQuery('word.bare', 'keeps vowel points', (query) => query.replaceAll(/\p{Mn}/gu, 'x')),
  brokenWords('word.bare', 'treats different kana as equal', (words) =>
    words.map((word) => word.normalize('NFKD').replaceAll(/[\u3099\u309a]/g, '')),
  ),
  brokenWords('word.joined', 'indexes words without prefix variants', (_, memory) =>
    matches(bare(textOf(memory)), /[\p{L}\p{N}]+/gu),
  ),
  brokenQuery('word.joined', 'removes prefixes always', (query) => query.replace(/^[وفبكلובכלמשה]/u, '')),
  brokenWords('word.joined', 'finds every suffix of a word', (words) =>
    words.flatMap((word) => Array.from(word, (_, index) => word.slice(index))),
  ),
  brokenWords('word.emoji', 'indexes only letters', (words) => words.filter((word) => /[\p{L}\p{N}]/u.test(word))),
  brokenWords('word.emoji', 'treats a run of emoji as one word', (_, memory) =>
    matches(textOf(memory).toLowerCase(), /[\p{L}\p{N}]+|[^\p{L}\p{N}\s!]+/gu),
  ),
  brokenWords('word.emoji', 'pairs the letters of adjacent flags', (words, memory) => {
    const letters = matches(textOf(memory), /\p{RI}/gu);
    return [...new Set([...words, ...letters.slice(1).map((letter, index) => `${letters[index]}${letter}`)])];
  }),
  brokenWords('word.emoji', 'treats skin tones as different words', (_, memory) =>
    matches(textOf(memory), /\p{RI}{2}|\p{Extended_Pictographic}\p{Emoji_Modifier}?/gu),
  ),
  brokenWords('word.dense', 'indexes a run of characters as one word', (_, memory) =>
    matches(textOf(memory).toLowerCase(), /[\p{L}\p{N}\p{M}]+/gu),
  ),
  brokenWords('word.dense', 'indexes only pairs', (words) => words.filter((word) => Array.from(word).length > 1)),
  brokenQuery('word.dense', 'searches characters one by one', (query) => Array.from(query).join(' ')),
  brokenFound('word.any', 'returns only the first memory', (found) => found.slice(0, 1)),
  brokenQuery('word.any', 'finds all memories for a query without words', (query) =>
    /\p{L}/u.test(query) ? query : 'owl wolf bear',
  ),
  brokenService('word.any', 'refuses a query without words', (service) => ({
    searchMemory: (request) =>
      /\p{L}/u.test(request.query)
        ? service.searchMemory(request)
        : Promise.reject(new InvalidRequestError('query: has no words')),
  })),
  brokenQuery('word.no-operators', 'treats NOT as an operator', (query) => (query.startsWith('NOT') ? 'wolf' : query)),
  brokenQuery('word.no-operators', 'treats % as an operator', (query) => query.replace('ow%', 'owl')),
  brokenService('word.no-operators', 'refuses an unpaired quote', (service) => ({
    searchMemory: (request) =>
      matches(request.query, /"/g).length % 2 === 0
        ? service.searchMemory(request)
        : Promise.reject(new InvalidRequestError('query: a quote is open')),
  })),
  brokenService('word.query-length', 'uses all words of a query', (service) => ({
    async searchMemory(request) {
      const words = [...new Set(request.query.split(' '))];
      const both = [words.slice(0, 40), words.slice(40)].map((some) =>
        service.searchMemory({ ...request, query: some.join(' ') }),
      );
      return { memories: (await Promise.all(both)).flatMap(({ memories }) => memories) };
    },
  })),
  brokenQuery('word.query-length', 'uses only the first words, repeated ones included', (query) =>
    query.split(' ').slice(0, 64).join(' '),
  ),
  brokenService('word.query-length', 'refuses a long query', (service) => ({
    searchMemory: (request) =>
      request.query.length < 10_000
        ? service.searchMemory(request)
        : Promise.reject(new InvalidRequestError('query: is too long')),
  })),
  brokenQuery('word.bad-query-refused', 'converts every query to text', String),
];

export const rankMutants: readonly MemoryMutant[] = [
  brokenFound('rank.more-words', 'ranks the best memory last', (found) => found.toReversed()),
  brokenDriver('rank.more-words', 'ranks by the first word', (driver) => ({
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
  brokenDriver('rank.own-words', 'counts words over all users', (driver) => {
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
  brokenDriver('rank.without-forgotten', 'counts words of deleted memories', (driver) => {
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
    'counts the occurrences of a word in a memory',
    (one, other) => textOf(other).length - textOf(one).length,
  ),
  brokenDriver('rank.once-a-word', 'counts the occurrences of a word in the query', (driver) => ({
    search: (owner, search) =>
      driver.search(owner, {
        ...search,
        weights: new Map([...search.weights].map(([word, weight]) => [word, word === 'owl' ? weight * 3 : weight])),
      }),
  })),
  brokenMemory('rank.later-first', 'ignores the time in the order', (memory) => ({ ...memory, timestamp: 0 })),
  brokenOrder('rank.later-first', 'orders the oldest first', (one, other) => one.timestamp - other.timestamp),
  brokenMemory('rank.later-first', 'orders by whole seconds', (memory) => ({
    ...memory,
    timestamp: Math.floor(memory.timestamp),
  })),
  brokenOrder('rank.added-later-first', 'orders by id', (one, other) => (one.eventId < other.eventId ? 1 : -1)),
  brokenOrder('rank.added-later-first', 'orders by the time of the addition', () => -1),
  brokenService('rank.limit', 'returns more than 10 by default', (service) => ({
    searchMemory: (request) => service.searchMemory({ limit: 20, ...request }),
  })),
  brokenFound('rank.limit', 'returns at most 50', (found) => found.slice(0, 50)),
  brokenDriver('rank.limit', 'has no maximum limit', (driver) => ({
    search: (owner, search) => driver.search(owner, { ...search, limit: search.limit === 100 ? 1000 : search.limit }),
  })),
  brokenService('rank.bad-limit-refused', 'treats an invalid limit as absent', (service) => ({
    searchMemory: ({ limit: _limit, ...request }) => service.searchMemory(request),
  })),
  brokenService('rank.except-session', 'ignores exceptSessionId', (service) => ({
    searchMemory: ({ exceptSessionId: _exceptSessionId, ...request }) => service.searchMemory(request),
  })),
  brokenService('rank.except-session', 'excludes the session after the limit', (service) => ({
    async searchMemory({ exceptSessionId, ...request }) {
      const { memories } = await service.searchMemory(request);
      return { memories: memories.filter(({ sessionId }) => sessionId !== exceptSessionId) };
    },
  })),
];
