import { type Event, InvalidEventError, InvalidRequestError, type SessionRecord } from '@eventloom/core';
import { wholeEvent } from '../faulty-events.ts';
import { brokenDriver, brokenService, type Mutant } from './mutant.ts';

export const eventFaultMutants: readonly Mutant[] = [
  brokenService('append.faulty-refused', 'stores what is left when a faulty field is taken away', (service) => ({
    appendEvent: (request) =>
      service.appendEvent(request).catch((error: unknown) => {
        if (!InvalidEventError.isInstance(error)) throw error;
        return service.appendEvent({ ...request, event: wholeEvent('one') });
      }),
  })),
  brokenService('append.faulty-refused', 'takes any branch for text', (service) => ({
    appendEvent: ({ event, ...request }) =>
      service.appendEvent({ ...request, event: event.branch ? { ...event, branch: String(event.branch) } : event }),
  })),
  brokenService('append.faulty-refused', 'stores artifacts of any name', (service) => ({
    appendEvent: ({ event, ...request }) => service.appendEvent({ ...request, event: withoutArtifacts(event) }),
  })),
  brokenEventImport('import.faulty-refused', 'leaves out parts that are none', (event) => {
    const parts = event.content?.parts;
    if (!Array.isArray(parts)) return event;
    return { ...event, content: { ...event.content, parts: parts.filter((part) => part !== null) } };
  }),
  brokenEventImport('import.faulty-refused', 'leaves out the names of artifacts', withoutArtifacts),
  brokenService('import.faulty-refused', 'gives another error', (service) => ({
    importSession: (request) =>
      service.importSession(request).catch((error: unknown) => {
        throw InvalidRequestError.isInstance(error) && error.cause ? error.cause : error;
      }),
  })),
  brokenDriver('import.as-appended', 'leaves out fields that it does not know', (driver) => ({
    importSession: (session) =>
      driver.importSession({
        ...session,
        events: session.events.map((event) => {
          const { someday: _, ...known } = event as Event & { readonly someday?: unknown };
          return known;
        }),
      }),
  })),
  brokenDriver('import.as-appended', 'keeps what is null', (driver) => ({
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

/** A mutant that makes something else of the events that it imports. */
function brokenEventImport(breaks: string, how: string, change: (event: Event) => Event): Mutant {
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
