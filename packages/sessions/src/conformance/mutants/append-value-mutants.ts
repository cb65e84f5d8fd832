import type { Event } from '@eventloom/core';
import type { EventAppend } from '../../session-driver.ts';
import { brokenEvents } from './broken-events.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';

export const appendValueMutants: readonly SessionMutant[] = [
  brokenEvents('append.values-kept', 'drops nulls', (events) =>
    events.map(
      (event) =>
        JSON.parse(JSON.stringify(event, (_, value: unknown) => (value === null ? undefined : value))) as Event,
    ),
  ),
  brokenEvents('append.values-kept', 'drops __proto__', (events) =>
    events.map(
      (event) =>
        JSON.parse(JSON.stringify(event), (key, value: unknown) => (key === '__proto__' ? undefined : value)) as Event,
    ),
  ),
  brokenService('append.values-kept', 'returns -0', (service) => ({
    async appendEvent(request) {
      const stored = await service.appendEvent(request);
      return { ...stored, customMetadata: { ...stored.customMetadata, negative: -0 } };
    },
  })),
  brokenIds('append.odd-ids', 'ignores the case of ids', (id) => id.toLowerCase()),
  brokenIds('append.odd-ids', 'normalises Unicode', (id) => id.normalize('NFC')),
  brokenIds('append.odd-ids', 'truncates long ids', (id) => id.slice(0, 255)),
  brokenEvents('append.artifact-delta', 'drops artifactDelta', (events) =>
    events.map((event) => ({ ...event, actions: { ...event.actions, artifactDelta: {} } })),
  ),
  brokenDriver('append.artifact-delta', 'stores artifactDelta in the state', (driver) => ({
    appendEvent(append) {
      const { artifactDelta } = append.event.actions;
      const saved = Object.entries(artifactDelta).map(([key, value]) => ({ scope: 'session', key, value }) as const);
      return driver.appendEvent({ ...append, writes: [...append.writes, ...saved] });
    },
  })),
  brokenDriver('append.ids-of-one-session', 'requires ids to be unique across sessions', (driver) => ({
    appendEvent: onceEach(
      () => 'all',
      (append) => driver.appendEvent(append),
    ),
  })),
  brokenDriver('append.ids-of-one-session', 'requires ids to be unique across sessions of one id', (driver) => ({
    appendEvent: onceEach(
      ({ sessionId }) => sessionId,
      (append) => driver.appendEvent(append),
    ),
  })),
];

/** Creates a mutant that confuses ids for which `change` returns the same text. */
function brokenIds(breaks: string, how: string, change: (id: string) => string): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    appendEvent: onceEach(
      () => 'all',
      (append) => driver.appendEvent(append),
      change,
    ),
  }));
}

/** Wraps `appendEvent`: an id that was already appended in the same space of ids is a duplicate. */
function onceEach<T>(
  spaceOf: (append: EventAppend) => string,
  appendEvent: (append: EventAppend) => T,
  change: (id: string) => string = (id) => id,
) {
  const seen = new Map<string, Event>();
  return (append: EventAppend): T | { status: 'duplicate'; event: Event; lastSeq: number } => {
    const name = `${spaceOf(append)} ${change(append.event.id)}`;
    const event = seen.get(name);
    if (event) return { status: 'duplicate', event, lastSeq: 0 };
    seen.set(name, append.event);
    return appendEvent(append);
  };
}
