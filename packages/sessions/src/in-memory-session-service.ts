import { DriverSessionService, type DriverSessionServiceOptions } from './driver-session-service.ts';
import { InMemorySessionDriver } from './in-memory-session-driver.ts';

/** Options of `InMemorySessionService`. */
export type InMemorySessionServiceOptions = DriverSessionServiceOptions;

/**
 * Sessions in the memory of this process: for tests, for single-process tools, and for agents whose sessions need not outlive
 * the process. Everything the contract promises holds except surviving a restart: sessions, state, leases and open runs go with the
 * process, and no other process sees them. Events are kept by reference and are immutable by contract; state is copied in and out.
 * Nothing is ever dropped: delete the sessions that are done. No size is refused: what an event or a value may take is what the
 * process has of memory. An append and a read of a window cost the same in a long session as in a short one, a page of a listing
 * grows with the sessions of the app (or of the user), and a page of open runs with the runs that are open.
 */
export class InMemorySessionService extends DriverSessionService {
  constructor(options: InMemorySessionServiceOptions = {}) {
    super(new InMemorySessionDriver(), options);
  }
}
