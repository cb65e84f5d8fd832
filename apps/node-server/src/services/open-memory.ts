import type { BaseMemoryService } from '@eventloom/core';
import { InMemoryMemoryService } from '@eventloom/memory';
import type { MemoryPlace } from '../settings.ts';

/** A service that is open, and how to close it. */
export interface OpenMemory {
  readonly service: BaseMemoryService;
  close(): void;
}

/** @throws ConfigurationError when the file cannot be used */
export async function openMemory(place: MemoryPlace): Promise<OpenMemory> {
  if (place.kind === 'memory') return { service: new InMemoryMemoryService(), close: () => undefined };
  const { SqliteMemoryService } = await import('@eventloom/memory/sqlite');
  const service = new SqliteMemoryService({ path: place.file });
  return { service, close: () => service.close() };
}
