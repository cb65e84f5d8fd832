import { DriverMemoryService } from './driver-memory-service.ts';
import { InMemoryMemoryDriver } from './in-memory-memory-driver.ts';

/**
 * Keeps memories in the memory of this process, for tests and tools whose memories need not outlive it. Implements the whole contract,
 * except that memories do not survive a restart. Memories are never removed automatically: delete those that are no longer needed.
 *
 * @example
 * const runner = new Runner({ appName, agent, sessionService, memoryService: new InMemoryMemoryService() });
 */
export class InMemoryMemoryService extends DriverMemoryService {
  constructor() {
    super(new InMemoryMemoryDriver());
  }
}
