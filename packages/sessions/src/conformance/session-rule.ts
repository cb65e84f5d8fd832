import type { BaseSessionService } from '@eventloom/core';
import type { ConformanceRule, ConformanceSubject, MakeService } from '@eventloom/core/conformance';

/** The methods that may answer at once. */
const RUN_PATH = [
  'beginRun',
  'endRun',
  'getSession',
  'appendEvent',
  'renewLease',
  'releaseLease',
  'findRun',
  'putRunWebhook',
  'listRunWebhooks',
  'changeRunWebhook',
  'recordToolCall',
  'listToolCalls',
] as const satisfies (keyof BaseSessionService)[];

type RunPath = (typeof RUN_PATH)[number];

/** A session service of which every method answers with a promise, so that a rule reads the same for every back end. */
export type PromisedService = Omit<BaseSessionService, RunPath> & {
  [Name in RunPath]: (
    ...args: Parameters<BaseSessionService[Name]>
  ) => Promise<Awaited<ReturnType<BaseSessionService[Name]>>>;
};

/** The service under test and the tools that a test case works with. */
export type Subject = ConformanceSubject<PromisedService>;
/** A case before it is bound to a service. */
export type SessionRule = ConformanceRule<PromisedService>;

/** The same service, with its answers and errors of the moment in promises. */
export function toPromised(service: BaseSessionService): PromisedService {
  return new Proxy(service, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== 'function') return found;
      if (!(RUN_PATH as readonly unknown[]).includes(name)) return found.bind(target);
      return async (...args: unknown[]): Promise<unknown> => Reflect.apply(found, target, args);
    },
  }) as PromisedService;
}

/** Makes the service of a case. */
export function promisedMaker(makeService: MakeService<BaseSessionService>): MakeService<PromisedService> {
  return async (options) => {
    const made = await makeService(options);
    return {
      service: toPromised(made.service),
      ...(made.maxBytes === undefined ? {} : { maxBytes: made.maxBytes }),
      another: async () => toPromised((await made.another?.()) ?? made.service),
      close: () => made.close?.(),
    };
  };
}
