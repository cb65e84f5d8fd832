import {
  type AddEventsToMemoryRequest,
  BaseMemoryService,
  type DeleteMemoriesRequest,
  type DeleteMemoryRequest,
  type Event,
  InvalidRequestError,
  type MemoryEntry,
  type SearchMemoryRequest,
  type SearchMemoryResponse,
  type Session,
  type SessionKey,
} from '@eventloom/core';
import {
  checkArgument,
  describeKind,
  checkDriver,
  checkName,
  sessionKeyOf,
  storageFailure,
} from '@eventloom/core/internal';
import type { MemoryDriver, MemoryOwner, NewMemory, StoredMemory } from './memory-driver.ts';
import { checkEvents, isSaid, spokenContent } from './remembered-events.ts';
import { applyRewinds } from './rewound-events.ts';
import { memoryWords, queryWords } from './words.ts';

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
const MAX_QUERY_WORDS = 64;
/** The maximum length of a key: two names of 256 bytes, each byte escaped, and a separator. */
const MAX_ID_BYTES = 2 * 3 * 256 + 1;

/**
 * A memory service over a `MemoryDriver`. It implements everything in the contract that is not storage. An error of the driver becomes
 * the `cause` of a StorageError, unless it is an Eventloom error or a programming error such as a TypeError.
 */
export class DriverMemoryService extends BaseMemoryService {
  readonly #driver: MemoryDriver;

  /** @throws ConfigurationError for a value that is not a driver */
  constructor(driver: MemoryDriver) {
    super();
    checkDriver('DriverMemoryService', driver, 'rememberedEvents', 'new MyMemoryDriver()');
    this.#driver = driver;
  }

  /** True if a search without a `limit` gives all memories with a word of the query, the latest first. @internal */
  protected get findsAll(): boolean {
    return false;
  }

  override addSessionToMemory(session: Session): Promise<void> {
    checkArgument('addSessionToMemory(session)', session);
    return this.#add(sessionKeyOf(session), session.events);
  }

  override addEventsToMemory({ appName, userId, sessionId, events }: AddEventsToMemoryRequest): Promise<void> {
    return this.#add({ appName, userId, sessionId }, events);
  }

  async #add(key: SessionKey, events: readonly Event[]): Promise<void> {
    checkOwner(key);
    checkName('sessionId', key.sessionId);
    checkEvents(events);
    const { counted, covered, rewinds } = applyRewinds(events);
    const said = counted.filter(isSaid);
    const eventIds = covered.map(({ id }) => id);
    if (rewinds.length > 0) await this.#ask((driver) => driver.retreat(key, { rewinds, eventIds }));
    if (said.length === 0) return;
    const ids = said.map(({ id }) => id);
    const remembered = await this.#ask((driver) => driver.rememberedEvents(key, ids));
    const memories = said.flatMap((event) => (remembered.has(event.id) ? [] : toMemory(event)));
    if (memories.length > 0) await this.#ask((driver) => driver.add(key, memories));
  }

  override async searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse> {
    checkArgument('searchMemory({ appName, userId, query })', request);
    const { appName, userId, query, limit = DEFAULT_LIMIT, exceptSessionId } = request;
    checkOwner(request);
    if (exceptSessionId !== undefined) checkName('exceptSessionId', exceptSessionId);
    if (typeof query !== 'string')
      throw new InvalidRequestError(
        `query: expected a string, got ${describeKind(query)}; write query: 'holidays in May'`,
      );
    if (!Number.isInteger(limit) || limit < 1)
      throw new InvalidRequestError(`limit: expected a positive integer, got ${describeKind(limit)}; write limit: 10`);
    const words = queryWords(query, MAX_QUERY_WORDS);
    if (words.length === 0) return { memories: [] };
    const owner = { appName, userId };
    const { memories, counts } = await this.#ask((driver) => driver.countWords(owner, words));
    const weights = new Map<string, number>();
    for (const [word, count] of counts) if (count > 0) weights.set(word, wordWeight(count, memories));
    if (weights.size === 0) return { memories: [] };
    const findsAll = this.findsAll && request.limit === undefined;
    // Memories of equal rank are ordered by time.
    if (findsAll) for (const word of weights.keys()) weights.set(word, 0);
    const search = { weights, limit: findsAll ? Infinity : Math.min(limit, MAX_LIMIT), exceptSessionId };
    const found = await this.#ask((driver) => driver.search(owner, search));
    return { memories: found.map(toEntry) };
  }

  override async deleteMemory(request: DeleteMemoryRequest): Promise<void> {
    const { appName, userId, memoryId } = request;
    checkOwner(request);
    checkName('memoryId', memoryId, MAX_ID_BYTES);
    const parsed = parseMemoryId(memoryId);
    if (!parsed) return;
    const key = { appName, userId, sessionId: parsed.sessionId };
    await this.#ask((driver) => driver.delete(key, parsed.eventId));
  }

  override async deleteMemories(request: DeleteMemoriesRequest): Promise<void> {
    const { appName, userId, sessionId } = request;
    checkOwner(request);
    if (sessionId !== undefined) checkName('sessionId', sessionId);
    await this.#ask((driver) => driver.deleteAll({ appName, userId }, sessionId));
  }

  async #ask<T>(work: (driver: MemoryDriver) => T | Promise<T>): Promise<T> {
    try {
      return await work(this.#driver);
    } catch (error) {
      throw storageFailure('the memory storage', error);
    }
  }
}

function checkOwner(owner: MemoryOwner): void {
  for (const field of ['appName', 'userId'] as const) checkName(field, owner[field]);
}

/** Returns the memories of an event; an empty list if it has no text to search. */
function toMemory(event: Event): NewMemory[] {
  const content = spokenContent(event);
  if (!content) return [];
  const words = memoryWords(content);
  if (words.size === 0) return [];
  const { id: eventId, invocationId, timestamp, author } = event;
  return [{ eventId, invocationId, timestamp, author, content, words }];
}

function toEntry({ sessionId, eventId, timestamp, author, content }: StoredMemory): MemoryEntry {
  const time = new Date(Math.round(timestamp * 1000)).toISOString();
  return { id: toMemoryId(sessionId, eventId), sessionId, author, timestamp: time, content };
}

/** Returns the id of a memory: the ids of its session and its event as one text. */
function toMemoryId(sessionId: string, eventId: string): string {
  return `${encodeURIComponent(sessionId)}/${encodeURIComponent(eventId)}`;
}

/** Returns the session id and the event id in a memory's id; undefined for another text. */
function parseMemoryId(id: string): { readonly sessionId: string; readonly eventId: string } | undefined {
  const [session, event, ...rest] = id.split('/');
  if (!session || !event || rest.length > 0) return undefined;
  try {
    return { sessionId: decodeURIComponent(session), eventId: decodeURIComponent(event) };
  } catch {
    return undefined;
  }
}

/**
 * Returns the weight of a query word: the fewer of the user's memories have it, the higher. A thousandth of BM25's
 * inverse document frequency, at least 1. It is an integer, so that a sum does not depend on the order of addition.
 */
function wordWeight(count: number, memories: number): number {
  const rarity = Math.log(1 + (memories - count + 0.5) / (count + 0.5));
  return Math.max(1, Math.round(rarity * 1000));
}
