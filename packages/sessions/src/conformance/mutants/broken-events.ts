import type { Event } from '@eventloom/core';
import type { EventWindow } from '../../session-driver.ts';
import { brokenDriver, type SessionMutant } from './mutant.ts';
import { ALL_EVENTS } from '../../session-view.ts';

/** Creates a mutant that reads the wrong events, or reads events in a wrong order. */
export function brokenEvents(
  breaks: string,
  how: string,
  change: (events: Event[], window: EventWindow, all: Event[]) => Event[],
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    readSession(key, window) {
      const stored = driver.readSession(key, window);
      const all = driver.readSession(key, ALL_EVENTS)?.events ?? [];
      return stored && { ...stored, events: change(stored.events, window, all) };
    },
  }));
}
