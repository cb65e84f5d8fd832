import { type Event, StateKeyError, StateValueError, type StateWrite } from '@eventloom/core';
import { prefixedKey } from '@eventloom/core/internal';
import type { StateEntry } from '../../session-driver.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';
import { ALL_EVENTS } from '../../session-view.ts';

export const stateMutants: readonly SessionMutant[] = [
  brokenWrites('state.create-splits-scopes', 'stores all state in the session', toSessionScope),
  brokenWrites('state.append-splits-scopes', 'stores all state in the session', toSessionScope),
  brokenWrites('state.append-splits-scopes', 'shares user state with all users', (writes) =>
    writes.map((write) => (write.scope === 'user' ? { ...write, scope: 'app' } : write)),
  ),
  brokenDriver('state.app-seen-by-all', 'stores app state per user', (driver) => ({
    createSession: (creation) => driver.createSession({ ...creation, writes: toUserScope(creation.writes) }),
    appendEvent: (append) => driver.appendEvent({ ...append, writes: toUserScope(append.writes) }),
    readSession(key, window) {
      const stored = driver.readSession(key, window);
      return stored && { ...stored, state: stored.state.map((entry) => ({ ...entry, scope: scopeIn(entry.key) })) };
    },
  })),
  brokenWrites('state.app-seen-by-all', 'does not remove app keys', (writes) =>
    writes.filter(({ scope, value }) => scope !== 'app' || value !== undefined),
  ),
  brokenReads('state.prefixes-kept-apart', 'drops the prefix of the user', (entries) =>
    entries.map((entry) => (entry.scope === 'user' ? { ...entry, scope: 'session' } : entry)),
  ),
  brokenService('state.temp-not-stored', 'stores temp: keys', (service) => ({
    appendEvent: (request) => service.appendEvent({ ...request, event: withRenamed(request.event, 'temp:', 'temp_') }),
  })),
  brokenService('state.temp-not-stored', 'returns the event with temp: keys', (service) => ({
    async appendEvent(request) {
      await service.appendEvent(request);
      return request.event;
    },
  })),
  brokenService('state.temp-shown-live', 'drops temp: keys before the session object gets them', (service) => ({
    appendEvent: (request) =>
      service.appendEvent({ ...request, event: withRenamed(request.event, 'temp:', undefined) }),
  })),
  brokenService('state.temp-dropped-on-create', 'stores temp: keys of the initial state', (service) => ({
    createSession: ({ state = {}, ...request }) =>
      service.createSession({ ...request, state: renamed(state, 'temp:', 'temp_') }),
  })),
  brokenWrites('state.null-is-a-value', 'treats null as a removal', (writes) =>
    writes.map((write) => ({ ...write, value: write.value ?? undefined })),
  ),
  brokenWrites('state.remove', 'ignores removedState', (writes) => writes.filter(({ value }) => value !== undefined)),
  brokenWrites('state.remove', 'removes a key in every scope', (writes) =>
    writes.flatMap((write) =>
      write.value === undefined ? (['app', 'user', 'session'] as const).map((scope) => ({ ...write, scope })) : write,
    ),
  ),
  brokenWrites('state.remove-wins', 'removes before it sets', (writes) => writes.toReversed()),
  brokenService('state.repeated', 'applies repeatedState', (service) => ({
    appendEvent: (request) => service.appendEvent({ ...request, repeatedState: undefined }),
  })),
  brokenService('state.repeated', 'drops the keys of repeatedState', (service) => ({
    appendEvent({ repeatedState = new Set(), ...request }) {
      const { event } = request;
      const actions = { ...event.actions, stateDelta: { ...event.actions.stateDelta } };
      for (const key of repeatedState) delete actions.stateDelta[key];
      return service.appendEvent({ ...request, event: { ...event, actions } });
    },
  })),
  brokenDriver('state.shallow-replace', 'merges objects', (driver) => ({
    appendEvent(append) {
      const before = driver.readSession(append, { ...ALL_EVENTS, limit: 0 })?.state ?? [];
      const writes = append.writes.map((write) => {
        const old = before.find(({ scope, key }) => scope === write.scope && key === write.key)?.value;
        return { ...write, value: { ...(old as object), ...(write.value as object) } };
      });
      return driver.appendEvent({ ...append, writes });
    },
  })),
  brokenDriver('state.shared-by-sessions', 'writes the whole state of the user', (driver) => ({
    appendEvent(append) {
      const before = driver.readSession(append, { ...ALL_EVENTS, limit: 0 })?.state ?? [];
      const removals = before.map(({ scope, key }) => ({ scope, key, value: undefined }));
      return driver.appendEvent({ ...append, writes: [...removals, ...append.writes] });
    },
  })),
  brokenDriver('state.stored-with-event', 'writes state before it checks the lease', (driver) => ({
    appendEvent(append) {
      driver.createSession({ ...append, sessionId: 'ghost', writes: append.writes });
      return driver.appendEvent(append);
    },
  })),
  brokenService('state.stored-with-event', 'updates the session object before the commit', (service) => ({
    appendEvent(request) {
      Object.assign(request.session.state, request.event.actions.stateDelta);
      return service.appendEvent(request);
    },
  })),
  brokenService('state.delta-own-copy', "returns the caller's own value objects", (service) => ({
    async appendEvent(request) {
      const stored = await service.appendEvent(request);
      Object.assign(request.session.state, request.event.actions.stateDelta);
      return stored;
    },
  })),
  brokenReads('state.odd-keys', 'drops __proto__', (entries) => entries.filter(({ key }) => key !== '__proto__')),
  brokenReads('state.odd-keys', 'normalises Unicode', (entries) =>
    entries.map((entry) => ({ ...entry, key: entry.key.normalize('NFC') })),
  ),
  brokenService('state.inherits-nothing', 'returns an object with a prototype', (service) => ({
    async getSession(request) {
      const session = await service.getSession(request);
      return session && { ...session, state: { ...session.state } };
    },
  })),
  brokenService('state.bad-keys-refused', 'skips an event with an invalid key', (service) => ({
    appendEvent: (request) =>
      service.appendEvent(request).catch((error: unknown) => {
        if (StateKeyError.isInstance(error)) return request.event;
        throw error;
      }),
  })),
  brokenService('state.bad-keys-refused', 'does not check removed keys', (service) => ({
    appendEvent: (request) =>
      service.appendEvent(request).catch((error: unknown) => {
        if (StateKeyError.isInstance(error) && request.event.actions.removedState) return request.event;
        throw error;
      }),
  })),
  brokenService('state.bad-values-refused', 'skips an event with an invalid value', (service) => ({
    appendEvent: (request) =>
      service.appendEvent(request).catch((error: unknown) => {
        if (StateValueError.isInstance(error)) return request.event;
        throw error;
      }),
  })),
  brokenService('state.bad-values-refused', 'converts a Map', (service) => ({
    createSession: ({ state = {}, ...request }) =>
      service.createSession({
        ...request,
        state: Object.fromEntries(
          Object.entries(state).map(([key, value]) => [key, value instanceof Map ? [...value] : value]),
        ),
      }),
  })),
  brokenService('state.instances-as-json', 'stores undefined as null', (service) => ({
    createSession: ({ state = {}, ...request }) =>
      service.createSession({
        ...request,
        state: Object.fromEntries(Object.entries(state).map(([key, value]) => [key, value ?? null])),
      }),
  })),
  brokenService('state.instances-as-json', 'empties instances of classes', (service) => ({
    createSession: ({ state = {}, ...request }) =>
      service.createSession({
        ...request,
        state: Object.fromEntries(
          Object.entries(state).map(([key, value]) => [key, value instanceof Date ? {} : value]),
        ),
      }),
  })),
  brokenReads('state.values-kept', 'rounds numbers', (entries) => entries.map(roundNumbers)),
  brokenReads('state.values-kept', 'drops empty lists', (entries) =>
    entries.map((entry) => ({
      ...entry,
      value: JSON.parse(JSON.stringify(entry.value).replaceAll('[]', 'null')) as unknown,
    })),
  ),
];

function brokenWrites(
  breaks: string,
  how: string,
  change: (writes: readonly StateWrite[]) => readonly StateWrite[],
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    createSession: (creation) => driver.createSession({ ...creation, writes: change(creation.writes) }),
    appendEvent: (append) => driver.appendEvent({ ...append, writes: change(append.writes) }),
  }));
}

function brokenReads(
  breaks: string,
  how: string,
  change: (entries: readonly StateEntry[]) => readonly StateEntry[],
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    readSession(key, window) {
      const stored = driver.readSession(key, window);
      return stored && { ...stored, state: change(stored.state) };
    },
  }));
}

function toSessionScope(writes: readonly StateWrite[]): StateWrite[] {
  return writes.map(({ scope, key, value }) => ({ scope: 'session', key: prefixedKey(scope, key), value }));
}

function renamed(
  state: Readonly<Record<string, unknown>>,
  prefix: string,
  to: string | undefined,
): Record<string, unknown> {
  const entries = Object.entries(state).flatMap(([key, value]) => {
    if (!key.startsWith(prefix)) return [[key, value] as const];
    return to === undefined ? [] : [[key.replace(prefix, to), value] as const];
  });
  return Object.fromEntries(entries);
}

function withRenamed(event: Event, prefix: string, to: string | undefined): Event {
  return { ...event, actions: { ...event.actions, stateDelta: renamed(event.actions.stateDelta, prefix, to) } };
}

function roundNumbers(entry: StateEntry): StateEntry {
  const rounded = JSON.stringify(entry.value, (_, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(12)) : value,
  );
  return { ...entry, value: JSON.parse(rounded) as unknown };
}

/** Creates a mutant that stores keys of the app as keys of the user, with a mark in their name. */
function toUserScope(writes: readonly StateWrite[]): StateWrite[] {
  return writes.map((write) => (write.scope === 'app' ? { ...write, scope: 'user' } : write));
}

function scopeIn(key: string): StateEntry['scope'] {
  return key === 'motto' || key === 'gone' ? 'app' : 'session';
}
