import type { BaseCredentialService } from '@eventloom/core';
import { type Mutant, overlay } from '@eventloom/core/conformance';
import { InMemoryCredentialService } from '../../in-memory-credential-service.ts';

/** A service with a deliberate fault, which the named case must find. */
export type CredentialMutant = Mutant<BaseCredentialService>;

type Methods = Partial<Pick<BaseCredentialService, keyof BaseCredentialService>>;

/** Creates a mutant. `change` returns the methods that differ from those of a correct service. */
export function broken(
  breaks: string,
  how: string,
  change: (service: BaseCredentialService) => Methods,
): CredentialMutant {
  const make: CredentialMutant['make'] = async () => {
    const service = new InMemoryCredentialService();
    return { service: overlay(service, change(service)) };
  };
  return { breaks, how, make };
}
