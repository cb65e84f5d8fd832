import type { BaseArtifactService, Platform } from '@eventloom/core';
import type { MakeService } from '@eventloom/core/conformance';
import { DriverArtifactService } from '../../driver-artifact-service.ts';
import { InMemoryArtifactDriver } from '../../in-memory-artifact-driver.ts';
import type { ArtifactDriver } from '../../artifact-driver.ts';

/** A service that is broken on purpose, to check that a case detects the fault. */
export interface Mutant {
  /** Id of the case. */
  readonly breaks: string;
  /** The fault of this mutant: completes the sentence "a service that …". */
  readonly how: string;
  readonly make: MakeService<BaseArtifactService>;
}

type ServiceMethods = Pick<BaseArtifactService, keyof BaseArtifactService>;

/** A mutant whose storage is broken: `change` gives the methods that differ. */
export function brokenDriver(
  breaks: string,
  how: string,
  change: (driver: InMemoryArtifactDriver) => Partial<ArtifactDriver>,
): Mutant {
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
): Mutant {
  return {
    breaks,
    how,
    make: async ({ platform }) => {
      const service = new DriverArtifactService(new InMemoryArtifactDriver(), { platform });
      return { service: overlay<BaseArtifactService>(service, change(service, platform)) };
    },
  };
}

/** The target, with some of its methods replaced. */
function overlay<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const found: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}
