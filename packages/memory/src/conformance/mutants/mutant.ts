import type { BaseMemoryService, Event, MemoryEntry } from '@eventloom/core';
import { type Mutant, overlay } from '@eventloom/core/conformance';
import { DriverMemoryService } from '../../driver-memory-service.ts';
import { InMemoryMemoryDriver } from '../../in-memory-memory-driver.ts';
import type { MemoryDriver, NewMemory } from '../../memory-driver.ts';

/** A service with a deliberate fault, which the named case must find. */
export type MemoryMutant = Mutant<BaseMemoryService>;

type ServiceMethods = Pick<BaseMemoryService, keyof BaseMemoryService>;

/** Creates a mutant whose storage is broken: `change` returns the methods that differ. */
export function brokenDriver(
  breaks: string,
  how: string,
  change: (driver: InMemoryMemoryDriver) => Partial<MemoryDriver>,
): MemoryMutant {
  return {
    breaks,
    how,
    make: async () => {
      const driver = new InMemoryMemoryDriver();
      return { service: new DriverMemoryService(overlay(driver, change(driver))) };
    },
  };
}

/** Creates a mutant that is broken in front of its storage: `change` returns the methods that differ. */
export function brokenService(
  breaks: string,
  how: string,
  change: (service: BaseMemoryService) => Partial<ServiceMethods>,
): MemoryMutant {
  return {
    breaks,
    how,
    make: async () => {
      const service = new DriverMemoryService(new InMemoryMemoryDriver());
      return { service: overlay<BaseMemoryService>(service, change(service)) };
    },
  };
}

/** Creates a mutant that changes events before they are added. */
export function brokenEvents(breaks: string, how: string, change: (events: readonly Event[]) => Event[]): MemoryMutant {
  return brokenService(breaks, how, (service) => ({
    addSessionToMemory: (session) => service.addSessionToMemory({ ...session, events: change(session.events) }),
    addEventsToMemory: (request) => service.addEventsToMemory({ ...request, events: change(request.events) }),
  }));
}

/** Creates a mutant that changes memories before they are stored. */
export function brokenMemory(breaks: string, how: string, change: (memory: NewMemory) => NewMemory): MemoryMutant {
  return brokenDriver(breaks, how, (driver) => ({
    add: (key, memories) => driver.add(key, memories.map(change)),
  }));
}

/** Creates a mutant that changes found memories. */
export function brokenFound(
  breaks: string,
  how: string,
  change: (found: MemoryEntry[]) => MemoryEntry[],
): MemoryMutant {
  return brokenService(breaks, how, (service) => ({
    searchMemory: async (request) => ({ memories: change((await service.searchMemory(request)).memories) }),
  }));
}

/** Returns all text of a memory. */
export function textOf({ content }: Pick<NewMemory, 'content'>): string {
  return (content.parts ?? []).map(({ text }) => text).join(' ');
}
