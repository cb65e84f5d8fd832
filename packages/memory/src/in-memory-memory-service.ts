import { DriverMemoryService } from './driver-memory-service.ts';
import { InMemoryMemoryDriver } from './in-memory-memory-driver.ts';

/**
 * Memories in the memory of this process: for tests and tools whose memories need not outlive it. Everything the contract
 * promises holds except surviving a restart. Nothing is ever dropped: delete what is not needed.
 */
export class InMemoryMemoryService extends DriverMemoryService {
  constructor() {
    super(new InMemoryMemoryDriver());
  }
}
