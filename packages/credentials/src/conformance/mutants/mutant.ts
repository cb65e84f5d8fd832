import type { BaseCredentialService } from '@eventloom/core';
import type { MakeService } from '@eventloom/core/conformance';
import { InMemoryCredentialService } from '../../in-memory-credential-service.ts';

/** A service that is broken on purpose, to see that a case notices. */
export interface Mutant {
  /** Id of the case. */
  readonly breaks: string;
  /** The fault of this mutant: completes the sentence "a service that …". */
  readonly how: string;
  readonly make: MakeService<BaseCredentialService>;
}

type Methods = Partial<Pick<BaseCredentialService, keyof BaseCredentialService>>;

/** Creates a mutant. `change` returns the methods that differ from those of a correct service. */
export function broken(breaks: string, how: string, change: (service: BaseCredentialService) => Methods): Mutant {
  const make: Mutant['make'] = async () => {
    const service = new InMemoryCredentialService();
    return { service: overlay(service, change(service)) };
  };
  return { breaks, how, make };
}

/** The target, with some of its methods replaced. */
export function overlay(target: BaseCredentialService, methods: Methods): BaseCredentialService {
  return new Proxy(target, {
    get(_, name) {
      const found: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}
