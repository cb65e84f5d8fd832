// Memory services that need only web standards, and the interface for your own storage.

export type { MaybePromise } from '@eventloom/core';
export { InMemoryMemoryService } from './in-memory-memory-service.ts';
export { DriverMemoryService } from './driver-memory-service.ts';
export { MEMORY_WORDS_VERSION, memoryWords } from './words.ts';
export type {
  MemoryDriver,
  MemoryOwner,
  MemoryRetreat,
  MemorySearch,
  NewMemory,
  StoredMemory,
  WordCounts,
} from './memory-driver.ts';
export type { MemoryRewind } from './rewound-events.ts';
