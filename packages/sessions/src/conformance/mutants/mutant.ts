import type { BaseSessionService, Platform } from '@eventloom/core';
import { type Mutant, overlay } from '@eventloom/core/conformance';
import { DriverSessionService } from '../../driver-session-service.ts';
import { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import { type PromisedService, toPromised } from '../session-rule.ts';
import type { SessionDriver } from '../../session-driver.ts';

/** A service with a deliberate fault, which the named case must find. */
export type SessionMutant = Mutant<BaseSessionService>;

/** The ticket of a claim that does not wait. */
export const NO_WAIT = { ticket: undefined };

type ServiceMethods = Pick<BaseSessionService, keyof BaseSessionService>;

/** Creates a mutant with a wrong driver: `change` returns the methods that differ. */
export function brokenDriver(
  breaks: string,
  how: string,
  change: (driver: InMemorySessionDriver) => Partial<SessionDriver>,
): SessionMutant {
  return {
    breaks,
    how,
    make: async ({ platform }) => {
      const driver = new InMemorySessionDriver();
      return { service: new DriverSessionService(overlay(driver, change(driver)), { platform }) };
    },
  };
}

/** Creates a mutant with a wrong service and a correct driver: `change` returns the methods that differ. */
export function brokenService(
  breaks: string,
  how: string,
  change: (service: PromisedService, driver: InMemorySessionDriver, platform: Platform) => Partial<ServiceMethods>,
): SessionMutant {
  return {
    breaks,
    how,
    make: async ({ platform }) => {
      const driver = new InMemorySessionDriver();
      const service = new DriverSessionService(driver, { platform });
      return { service: overlay<BaseSessionService>(service, change(toPromised(service), driver, platform)) };
    },
  };
}
