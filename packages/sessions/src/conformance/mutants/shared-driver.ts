import { overlay } from '@eventloom/core/conformance';
import type { BaseSessionService } from '@eventloom/core';
import type { MakeService } from '@eventloom/core/conformance';
import { DriverSessionService } from '../../driver-session-service.ts';
import { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import type { SessionDriver } from '../../session-driver.ts';
import type { SessionMutant } from './mutant.ts';

/**
 * Creates services in memory that share one storage, like processes. `change` returns the methods of the storage that differ from a correct
 * one.
 */
export function sharedService(
  change: (driver: InMemorySessionDriver) => Partial<SessionDriver> = () => ({}),
): MakeService<BaseSessionService> {
  return async ({ platform }) => {
    const driver = new InMemorySessionDriver();
    const shared = overlay<SessionDriver>(driver, { shared: true, ...change(driver) });
    const another = () => new DriverSessionService(shared, { platform });
    return { service: another(), another };
  };
}

/** Creates a mutant whose storage is wrong when several services share it. */
export function brokenSharing(
  breaks: string,
  how: string,
  change: (driver: InMemorySessionDriver) => Partial<SessionDriver>,
): SessionMutant {
  return { breaks, how, make: sharedService(change) };
}
