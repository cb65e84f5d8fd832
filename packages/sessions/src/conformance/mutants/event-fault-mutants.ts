import { type Event, InvalidEventError, InvalidRequestError, type SessionRecord } from '@eventloom/core';
import { wholeEvent } from '../faulty-events.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';

export const eventFaultMutants: readonly SessionMutant[] = [
  brokenService('append.faulty-refused', 'stores an event without its invalid fields', (service) => ({
    appendEvent: (request) =>
      service.appendEvent(request).catch((error: unknown) => {
        if (!InvalidEventError.isInstance(error)) throw error;
        return service.appendEvent({ ...request, event: wholeEvent('one') });
      }),
  })),
  brokenService('append.faulty-refused', 'accepts a branch that is not text', (service) => ({
    appendEvent: ({ event, ...request }) =>
      service.appendEvent({ ...request, event: event.branch ? { ...event, branch: String(event.branch) } : event }),
  })),
  brokenService('append.faulty-refused', 'accepts any artifact name', (service) => ({
    appendEvent: ({ event, ...request }) => service.appendEvent({ ...request, event: withoutArtifacts(event) }),
  })),
  brokenEventImport('import.faulty-refused', 'drops invalid parts', (event) => {
    const parts = event.content?.parts;
    if (!Array.isArray(parts)) return event;
    return { ...event, content: { ...event.content, parts: parts.filter((part) => part !== null) } };
  }),
  brokenEventImport('import.faulty-refused', 'drops artifactDelta', withoutArtifacts),
  brokenService('import.faulty-refused', 'throws another error', (service) => ({
    importSession: (request) =>
      service.importSession(request).catch((error: unknown) => {
        throw InvalidRequestError.isInstance(error) && error.cause ? error.cause : error;
      }),
  })),
  brokenDriver('import.as-appended', 'drops unknown fields', (driver) => ({
    importSession: (session) =>
      driver.importSession({
        ...session,
        events: session.events.map((event) => {
          const { someday: _, ...known } = event as Event & { readonly someday?: unknown };
          return known;
        }),
      }),
  })),
  brokenDriver('import.as-appended', 'stores null fields', (driver) => ({
    importSession: (session) =>
      driver.importSession({
        ...session,
        events: session.events.map((event) => ({ branch: null, ...event }) as unknown as Event),
      }),
  })),
];

function withoutArtifacts(event: Event): Event {
  const names = Object.keys(event.actions?.artifactDelta ?? {});
  return names.includes('../file') ? { ...event, actions: { ...event.actions, artifactDelta: {} } } : event;
}

/** Creates a mutant that changes imported events. */
function brokenEventImport(breaks: string, how: string, change: (event: Event) => Event): SessionMutant {
  return brokenService(breaks, how, (service) => ({
    async importSession(request) {
      const records: SessionRecord[] = [];
      for await (const record of request.records) {
        records.push(record.type === 'event' ? { ...record, event: change(record.event) } : record);
      }
      return service.importSession({ ...request, records });
    },
  }));
}
