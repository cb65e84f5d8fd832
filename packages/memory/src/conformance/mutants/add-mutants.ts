import type { Event, MemoryEntry } from '@eventloom/core';
import type { NewMemory, StoredMemory } from '../../memory-driver.ts';
import {
  brokenDriver,
  brokenEvents,
  brokenFound,
  brokenMemory,
  brokenService,
  type MemoryMutant,
  textOf,
} from './mutant.ts';

/** Creates a mutant that ignores a field of events. */
function blindTo(field: keyof Event): MemoryMutant {
  return brokenEvents('add.not-said', `does not look at ${String(field)}`, (events) =>
    events.map((event) => ({ ...event, [field]: undefined })),
  );
}

/** Returns the event with changed parts. */
function withParts(event: Event, change: (part: { text?: string; thought?: boolean }) => object): Event {
  return event.content
    ? { ...event, content: { ...event.content, parts: (event.content.parts ?? []).map(change) } }
    : event;
}

export const addMutants: readonly MemoryMutant[] = [
  brokenFound('add.session', 'returns the time in seconds', (found) =>
    found.map((memory) => ({ ...memory, timestamp: String(Date.parse(memory.timestamp ?? '') / 1000) })),
  ),
  brokenFound('add.session', 'returns no author', (found) => found.map(({ author: _author, ...memory }) => memory)),
  brokenFound('add.session', 'returns no session', (found) =>
    found.map(({ sessionId: _sessionId, ...memory }) => memory),
  ),
  brokenFound('add.session', 'gives all memories one id', (found) => found.map((memory) => ({ ...memory, id: 'one' }))),
  brokenMemory('add.session', 'returns the role model for every author', (memory) => ({
    ...memory,
    content: { ...memory.content, role: 'model' },
  })),
  brokenFound('add.time', 'truncates times to seconds', (found) =>
    found.map((memory) => ({ ...memory, timestamp: memory.timestamp?.replace(/\.\d+/, '.000') ?? '' })),
  ),
  brokenService('add.events', 'adds only whole sessions', () => ({ addEventsToMemory: async () => undefined })),
  brokenService('add.events', 'throws if no event can be added', (service) => ({
    addEventsToMemory(request) {
      if (request.events.length === 0) return Promise.reject(new TypeError('nothing to add'));
      return service.addEventsToMemory(request);
    },
  })),
  brokenDriver('add.again', 'replaces an event that is added again', (driver) => ({
    rememberedEvents: () => new Set(),
    add(key, memories) {
      driver.retreat(key, { rewinds: [], eventIds: memories.map(({ eventId }) => eventId) });
      driver.add(key, memories);
    },
  })),
  brokenDriver('add.again', 'adds an event each time', (driver) => {
    let added = 0;
    return {
      add: (key, memories) =>
        driver.add(
          key,
          memories.map((memory) => ({ ...memory, eventId: `${memory.eventId} ${added++}` })),
        ),
    };
  }),
  brokenService('add.again', 'adds a session once', (service) => {
    const seen = new Set<string>();
    return {
      async addSessionToMemory(session) {
        if (!seen.has(session.id)) await service.addSessionToMemory(session);
        seen.add(session.id);
      },
    };
  }),
  brokenDriver('add.same-id-elsewhere', 'identifies an event by its id alone', (driver) => {
    const known = new Set<string>();
    return {
      rememberedEvents: () => known,
      add(key, memories) {
        for (const { eventId } of memories) known.add(eventId);
        driver.add(key, memories);
      },
    };
  }),
  brokenDriver('add.concurrent', 'looks for known events before it writes', (driver) => {
    const known = new Set<string>();
    let added = 0;
    return {
      rememberedEvents: () => new Set(known),
      async add(key, memories) {
        await Promise.resolve();
        for (const { eventId } of memories) known.add(eventId);
        driver.add(
          key,
          memories.map((memory) => ({ ...memory, eventId: `${memory.eventId} ${added++}` })),
        );
      },
    };
  }),
  brokenEvents('add.text-only', 'adds thoughts', (events) =>
    events.map((event) => withParts(event, ({ thought: _thought, ...part }) => part)),
  ),
  brokenService('add.text-only', 'adds parts that are not text', (service) => {
    const given = new Map<string, Event>();
    return {
      addSessionToMemory(session) {
        for (const event of session.events) given.set(`${session.id}/${event.id}`, event);
        return service.addSessionToMemory(session);
      },
      async searchMemory(request) {
        const { memories } = await service.searchMemory(request);
        const whole = memories.map((memory) => ({ ...memory, content: given.get(memory.id ?? '')?.content ?? {} }));
        return { memories: whole };
      },
    };
  }),
  brokenMemory('add.text-only', 'joins parts without a space', (memory) => ({
    ...memory,
    words: new Set([...memory.words, textOf(memory).replaceAll(' ', '')]),
  })),
  ...(['partial', 'errorCode', 'error', 'object', 'nodeEvent', 'branch'] as const).map(blindTo),
  brokenEvents('add.not-said', 'adds summaries', (events) =>
    events.map((event) => ({ ...event, actions: { stateDelta: {}, artifactDelta: {} } })),
  ),
  brokenEvents('add.not-said', 'adds calls', (events) =>
    events.map((event) => withParts(event, (part) => ({ text: JSON.stringify(part) }))),
  ),
  brokenEvents('add.transcription', "ignores the user's transcription", (events) =>
    events.map(({ inputTranscription: _inputTranscription, ...event }) => event),
  ),
  brokenEvents('add.transcription', "ignores the agent's transcription", (events) =>
    events.map(({ outputTranscription: _outputTranscription, ...event }) => event),
  ),
  brokenEvents('add.transcription', 'adds partial transcriptions', (events) =>
    events.map(({ partial: _partial, ...event }) => event),
  ),
  brokenEvents('add.long-text', 'stores the rest of a long text as another memory', (events) => [
    ...events,
    ...events.map((event) =>
      withParts({ ...event, id: `${event.id} rest` }, ({ text = '' }) => ({ text: text.slice(5_000) })),
    ),
  ]),
  brokenText('add.long-text', 'stores fewer characters', (text) => text.slice(0, 4_000)),
  brokenText('add.long-text', 'splits a surrogate pair', (text) => (text.length === 9_999 ? `${text}\ud83e` : text)),
  brokenService('add.bad-events-refused', 'skips invalid events', (service) => ({
    async addEventsToMemory(request) {
      for (const event of request.events) {
        await service.addEventsToMemory({ ...request, events: [event] }).catch(() => undefined);
      }
    },
  })),
  brokenService('add.bad-events-refused', 'adds the events before an invalid one', (service) => ({
    async addSessionToMemory(session) {
      for (const event of session.events) await service.addSessionToMemory({ ...session, events: [event] });
    },
  })),
  brokenEvents('add.bad-events-refused', 'reads milliseconds as seconds', (events) =>
    events.map((event) => (event?.timestamp > 1e12 ? { ...event, timestamp: event.timestamp / 1000 } : event)),
  ),
  brokenService('add.own-copy', 'stores the given content without a copy', (service) => {
    const given = new Map<string, Event>();
    return {
      addSessionToMemory(session) {
        for (const event of session.events) given.set(`${session.id}/${event.id}`, event);
        return service.addSessionToMemory(session);
      },
      async searchMemory(request) {
        const { memories } = await service.searchMemory(request);
        return {
          memories: memories.map((memory) =>
            structuredClone({ ...memory, content: given.get(memory.id ?? '')?.content ?? {} }),
          ),
        };
      },
    };
  }),
  brokenDriver('add.own-copy', 'returns the same content object to every reader', (driver) => {
    let found: StoredMemory[] | undefined;
    return { search: (owner, search) => (found ??= driver.search(owner, search)) };
  }),
  brokenService('add.own-copy', 'returns the same list to every reader', (service) => {
    let found: { memories: MemoryEntry[] } | undefined;
    return { searchMemory: async (request) => (found ??= await service.searchMemory(request)) };
  }),
];

export const rewindMutants: readonly MemoryMutant[] = [
  brokenEvents('rewind.never-added', 'ignores rewinds', (events) =>
    events.filter(({ actions }) => actions.rewindBeforeInvocationId === undefined),
  ),
  brokenDriver('rewind.added-earlier', 'removes no memories at a rewind', () => ({ retreat: () => undefined })),
  brokenDriver('rewind.added-earlier', 'removes only the memories of the given events', (driver) => ({
    retreat: (key, { eventIds }) => driver.retreat(key, { eventIds, rewinds: [] }),
  })),
  brokenDriver('rewind.added-late', 'removes memories of later events', (driver) => ({
    retreat: (key, { eventIds, rewinds }) =>
      driver.retreat(key, { eventIds, rewinds: rewinds.map((rewind) => ({ ...rewind, timestamp: Infinity })) }),
  })),
  brokenDriver('rewind.covers-silent-begin', 'removes only the memories of the invocation', (driver) => ({
    retreat: (key, { rewinds }) => driver.retreat(key, { eventIds: [], rewinds }),
  })),
  brokenService('rewind.of-a-rewind', 'applies events one at a time', (service) => ({
    async addSessionToMemory(session) {
      for (const event of session.events) await service.addSessionToMemory({ ...session, events: [event] });
    },
  })),
  brokenDriver('rewind.of-equal-times', 'selects rewound memories by time alone', (driver) => {
    const added: NewMemory[] = [];
    return {
      add(key, memories) {
        added.push(...memories);
        driver.add(key, memories);
      },
      retreat(key, { rewinds }) {
        const firsts = rewinds.map((rewind) => added.find(({ invocationId }) => invocationId === rewind.invocationId));
        const since = Math.min(...firsts.map((first) => first?.timestamp ?? Infinity));
        const gone = added.filter(({ timestamp }) => timestamp >= since);
        driver.retreat(key, { rewinds: [], eventIds: gone.map(({ eventId }) => eventId) });
      },
    };
  }),
  brokenDriver('rewind.one-session', 'removes memories in all sessions', (driver) => {
    const sessions = new Set<string>();
    return {
      add(key, memories) {
        sessions.add(key.sessionId);
        driver.add(key, memories);
      },
      retreat(key, retreat) {
        for (const sessionId of sessions) driver.retreat({ ...key, sessionId }, retreat);
      },
    };
  }),
];

/** Creates a mutant that changes the parts of found memories. */
function brokenText(breaks: string, how: string, change: (text: string) => string): MemoryMutant {
  return brokenFound(breaks, how, (found) =>
    found.map((memory) => ({
      ...memory,
      content: {
        ...memory.content,
        parts: (memory.content.parts ?? []).map(({ text = '' }) => ({ text: change(text) })),
      },
    })),
  );
}
