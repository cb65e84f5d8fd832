import { type BaseMemoryService, InvalidRequestError } from '@eventloom/core';
import type { MemoryOwner } from '../../memory-driver.ts';
import { brokenDriver, brokenService, type MemoryMutant } from './mutant.ts';

/** Creates a mutant that confuses users. */
function brokenOwner(how: string, change: (owner: MemoryOwner) => MemoryOwner): MemoryMutant {
  return brokenDriver('scope.owners-apart', how, (driver) => ({
    add: (key, memories) => driver.add({ ...key, ...change(key) }, memories),
    countWords: (owner, words) => driver.countWords(change(owner), words),
    search: (owner, search) => driver.search(change(owner), search),
  }));
}

/** A mutant whose ids join names without separating them. */
function brokenIds(service: BaseMemoryService): Partial<BaseMemoryService> {
  const ids = new Map<string, string>();
  return {
    async searchMemory(request) {
      const { memories } = await service.searchMemory(request);
      const renamed = memories.map((memory) => ({ ...memory, id: decodeURIComponent(memory.id ?? '') }));
      for (const [index, { id }] of renamed.entries()) ids.set(id, memories[index]?.id ?? '');
      return { memories: renamed };
    },
    deleteMemory: (request) => service.deleteMemory({ ...request, memoryId: ids.get(request.memoryId) ?? 'none' }),
  };
}

export const scopeMutants: readonly MemoryMutant[] = [
  brokenDriver('scope.sessions-together', 'stores only the latest session', (driver) => {
    let latest = '';
    return {
      add(key, memories) {
        if (latest !== '') driver.deleteAll(key, latest);
        latest = key.sessionId;
        driver.add(key, memories);
      },
    };
  }),
  brokenOwner('shares memories between the users of an app', ({ appName }) => ({ appName, userId: '' })),
  brokenOwner('shares memories between the apps of a user', ({ userId }) => ({ appName: '', userId })),
  brokenOwner('joins names with a slash', ({ appName, userId }) => ({ appName: `${appName}/${userId}`, userId: '' })),
  brokenOwner('ignores the case of names', ({ appName, userId }) => ({ appName: appName.toLowerCase(), userId })),
  brokenOwner('trims names', ({ appName, userId }) => ({ appName, userId: userId.trim() })),
  brokenService('scope.bad-names-refused', 'returns nothing for an invalid name', (service) => ({
    searchMemory: (request) => service.searchMemory(request).catch(() => ({ memories: [] })),
  })),
  brokenService('scope.bad-names-refused', 'adds nothing to a session with an invalid name', (service) => ({
    addSessionToMemory: (session) => service.addSessionToMemory(session).catch(() => undefined),
  })),
  brokenService('scope.bad-names-refused', 'does not name the invalid field', (service) => ({
    deleteMemories: (request) =>
      service.deleteMemories(request).catch(() => Promise.reject(new InvalidRequestError('a name is invalid'))),
  })),
  brokenService('scope.bad-names-refused', 'treats an invalid exceptSessionId as absent', (service) => ({
    searchMemory: ({ exceptSessionId, ...request }) =>
      service.searchMemory(exceptSessionId ? { ...request, exceptSessionId } : request),
  })),
];

export const deleteMutants: readonly MemoryMutant[] = [
  brokenService('delete.one', 'deletes nothing', () => ({ deleteMemory: async () => undefined })),
  brokenDriver('delete.one', 'deletes the whole session', (driver) => ({
    delete: (key) => driver.deleteAll(key, key.sessionId),
  })),
  brokenDriver('delete.one-stays-forgotten', 'forgets deletions', (driver) => ({
    delete: (key, eventId) => driver.retreat(key, { rewinds: [], eventIds: [eventId] }),
  })),
  brokenService('delete.odd-ids', 'joins names without a separator', brokenIds),
  brokenDriver('delete.missing-is-no-op', 'throws for a missing memory', (driver) => ({
    delete(key, eventId) {
      if (!driver.rememberedEvents(key, [eventId]).has(eventId))
        throw new InvalidRequestError('there is no such memory');
      driver.delete(key, eventId);
    },
  })),
  brokenService('delete.missing-is-no-op', 'deletes memories by a prefix of the id', (service) => ({
    deleteMemory: (request) => service.deleteMemory({ ...request, memoryId: request.memoryId.slice(0, 11) }),
  })),
  brokenDriver('delete.missing-is-no-op', 'deletes memories of other users', (driver) => ({
    delete: (key, eventId) => driver.delete({ ...key, userId: 'user', appName: 'app' }, eventId),
  })),
  brokenService('delete.bad-id-refused', 'treats an invalid id as a missing one', (service) => ({
    deleteMemory: (request) => service.deleteMemory(request).catch(() => undefined),
  })),
  brokenDriver('delete.session', 'deletes all memories of the user', (driver) => ({
    deleteAll: (owner) => driver.deleteAll(owner, undefined),
  })),
  brokenDriver('delete.session', 'does not delete the memories of a session', (driver) => ({
    deleteAll: (owner, sessionId) => (sessionId === undefined ? driver.deleteAll(owner, undefined) : undefined),
  })),
  brokenDriver('delete.user', 'deletes only one session of the user', (driver) => ({
    deleteAll: (owner) => driver.deleteAll(owner, 'one'),
  })),
  brokenDriver('delete.user', 'deletes the user in every app', (driver) => ({
    deleteAll(owner, sessionId) {
      for (const appName of ['app', 'other']) driver.deleteAll({ ...owner, appName }, sessionId);
    },
  })),
  brokenDriver('delete.all-can-come-back', 'does not add a deleted session again', (driver) => {
    const deleted = new Set<string>();
    return {
      rememberedEvents: (key, eventIds) => new Set([...driver.rememberedEvents(key, eventIds), ...deleted]),
      delete(key, eventId) {
        deleted.add(eventId);
        driver.delete(key, eventId);
      },
    };
  }),
];
