import type { BaseSessionService } from '@eventloom/core';
import type { ConformanceRule, ConformanceSubject, MakeService } from '@eventloom/core/conformance';

/** The methods that may return synchronously. */
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

/** A session service whose methods all return promises, so that rules are the same for every back end. */
export type PromisedService = Omit<BaseSessionService, RunPath> & {
  [Name in RunPath]: (
    ...args: Parameters<BaseSessionService[Name]>
  ) => Promise<Awaited<ReturnType<BaseSessionService[Name]>>>;
};

/** The service under test and the tools that a test case works with. */
export type Subject = ConformanceSubject<PromisedService>;
/** A case without its service. */
export type SessionRule = ConformanceRule<PromisedService>;

/** Returns the same service with its synchronous results and errors in promises. */
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

/** Returns a function that makes the service of a case. */
export function promisedMaker(makeService: MakeService<BaseSessionService>): MakeService<PromisedService> {
  return async (options) => {
    const made = await makeService(options);
    return {
      service: toPromised(made.service),
      ...(made.maxBytes === undefined ? {} : { maxBytes: made.maxBytes }),
      another: async () => toPromised((await made.another?.()) ?? made.service),
      isBusy: () => made.isBusy?.() ?? false,
      ...(made.loseEvent ? { loseEvent: (key) => made.loseEvent?.(key) } : {}),
      close: () => made.close?.(),
    };
  };
}
