import { DriverSessionService, type DriverSessionServiceOptions } from './driver-session-service.ts';
import { InMemorySessionDriver } from './in-memory-session-driver.ts';

/** Options of `InMemorySessionService`. */
export type InMemorySessionServiceOptions = DriverSessionServiceOptions;

/**
 * Keeps sessions in the memory of this process, for tests, scripts and first steps. All sessions are lost when the process ends, and other
 * processes do not see them. Otherwise it behaves like the services that store sessions.
 *
 * It never removes a session by itself: a process that runs for a long time has to call `deleteSession`. Sizes are limited only by the
 * memory.
 *
 * @example
 * const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
 */
export class InMemorySessionService extends DriverSessionService {
  override readonly endsWithProcess: boolean = true;

  constructor(options: InMemorySessionServiceOptions = {}) {
    super(new InMemorySessionDriver(), options);
  }
}
