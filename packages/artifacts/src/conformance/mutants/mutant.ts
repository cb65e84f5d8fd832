import type { BaseArtifactService, Platform } from '@eventloom/core';
import { type Mutant, overlay } from '@eventloom/core/conformance';
import { DriverArtifactService } from '../../driver-artifact-service.ts';
import { InMemoryArtifactDriver } from '../../in-memory-artifact-driver.ts';
import type { ArtifactDriver } from '../../artifact-driver.ts';

/** A service with a deliberate fault, which the named case must find. */
export type ArtifactMutant = Mutant<BaseArtifactService>;

type ServiceMethods = Pick<BaseArtifactService, keyof BaseArtifactService>;

/** A mutant whose storage is broken: `change` gives the methods that differ. */
export function brokenDriver(
  breaks: string,
  how: string,
  change: (driver: InMemoryArtifactDriver) => Partial<ArtifactDriver>,
): ArtifactMutant {
  return {
    breaks,
    how,
    make: async ({ platform }) => {
      const driver = new InMemoryArtifactDriver();
      return { service: new DriverArtifactService(overlay(driver, change(driver)), { platform }) };
    },
  };
}

/** A mutant that is broken in front of its storage: `change` gives the methods that differ. */
export function brokenService(
  breaks: string,
  how: string,
  change: (service: BaseArtifactService, platform: Platform) => Partial<ServiceMethods>,
): ArtifactMutant {
  return {
    breaks,
    how,
    make: async ({ platform }) => {
      const service = new DriverArtifactService(new InMemoryArtifactDriver(), { platform });
      return { service: overlay<BaseArtifactService>(service, change(service, platform)) };
    },
  };
}
