import { DriverSessionService, type DriverSessionServiceOptions } from './driver-session-service.ts';
import { InMemorySessionDriver } from './in-memory-session-driver.ts';

/** Options of `InMemorySessionService`. */
export type InMemorySessionServiceOptions = DriverSessionServiceOptions;

/**
 * Sessions in the memory of this process: for tests, for single-process tools, and for agents whose sessions need not outlive
 * the process. Everything the contract promises holds except surviving a restart. Events are kept by reference and are
 * immutable by contract; state is copied in and out. Nothing is ever dropped: delete the sessions that are done.
 */
export class InMemorySessionService extends DriverSessionService {
  constructor(options: InMemorySessionServiceOptions = {}) {
    super(new InMemorySessionDriver(), options);
  }
}
