import { ConfigurationError } from '../errors.ts';
import type { Platform } from '../platform/platform.ts';
import type { SessionKey } from '../session/session-key.ts';
import { ConformanceError } from './errors.ts';
import { Expect } from './expect.ts';
import { ManualPlatform } from './manual-platform.ts';

/** A test case for one rule of a contract. Its function rejects if a back end breaks the rule. */
export interface ConformanceCase {
  /** Id of the rule, `topic.rule`: the same in every version. */
  readonly id: string;
  /** The rule, as a sentence for the title of a test. */
  readonly title: string;
  readonly run: () => Promise<void>;
}

/** The empty service that one test case runs against. */
export interface ServiceUnderTest<S> {
  readonly service: S;
  /**
   * The maximum size of a stored value in bytes of its JSON as UTF-8: a value of that size is stored, and a larger one is a SizeLimitError.
   * Without it the back end has no stated limit, and limits are not tested.
   */
  readonly maxBytes?: number;
  /** Makes another service over the same storage, as another process would. Without it the storage has one service. */
  another?(): Promise<S> | S;
  /**
   * True while the storage works on a call of any service of the case. Rules about waiting continue only after it is false. A storage that
   * needs more than a few turns of the event loop for a call, such as a database, must have it.
   */
  isBusy?(): boolean;
  /**
   * Removes the newest event of a session from the storage of sessions, and nothing else, as a database does that
   * replaces a failed one and lacks its last commits. Without it the storage cannot lose events, and rules about that
   * are not tested.
   */
  loseEvent?(key: SessionKey): Promise<void> | void;
  /** Called when the case has ended, even if it failed. */
  close?(): Promise<void> | void;
}

/** Creates the service of one case. Its clock is the platform's, which stands still until the case advances it. */
export type MakeService<S> = (options: { readonly platform: Platform }) => Promise<ServiceUnderTest<S>>;

/** The service under test, and the tools that a test case works with. */
export interface ConformanceSubject<S> {
  readonly service: S;
  /** The limit that the creator of the service states. */
  readonly maxBytes: number | undefined;
  /** Another service over the same storage, as another process would have; `service` itself where a storage has only one. */
  another(): Promise<S>;
  /** True while the storage works on a call. */
  isBusy(): boolean;
  /** Removes the newest event of a session from the storage; undefined if it cannot lose events. */
  readonly loseEvent: ((key: SessionKey) => Promise<void>) | undefined;
  readonly platform: ManualPlatform;
  readonly expect: Expect;
}

/** A rule of a contract: a test case that still needs a service. */
export interface ConformanceRule<S> {
  readonly id: string;
  readonly title: string;
  readonly check: (subject: ConformanceSubject<S>) => Promise<void>;
}

/** Options of a suite: how its cases run, and which of them the back end breaks on purpose. */
export interface ConformanceOptions {
  /** Rules that the back end breaks on purpose: the reason by the id of the case. Their cases are left out. Default: none. */
  readonly deviations?: Readonly<Record<string, string>>;
  /** Real milliseconds after which a case that does not end fails; default 120,000. */
  readonly hangMs?: number;
}

/**
 * Returns the rules of a contract as cases for any test runner. Every case creates its own service.
 * @throws ConfigurationError for a deviation from a case that does not exist
 */
export function conformanceCases<S>(
  rules: readonly ConformanceRule<S>[],
  makeService: MakeService<S>,
  { deviations = {}, hangMs = 120_000 }: ConformanceOptions = {},
): ConformanceCase[] {
  for (const id of Object.keys(deviations)) {
    if (!rules.some((rule) => rule.id === id)) throw new ConfigurationError(`there is no conformance case ${id}`);
  }
  return rules
    .filter(({ id }) => !Object.hasOwn(deviations, id))
    .map(({ id, title, check }) => ({
      id,
      title,
      async run() {
        const platform = new ManualPlatform();
        const subject = await makeService({ platform });
        const { service, maxBytes } = subject;
        const isBusy = (): boolean => subject.isBusy?.() ?? false;
        const loseEvent = subject.loseEvent && (async (key: SessionKey) => subject.loseEvent?.(key));
        try {
          const another = async () => (await subject.another?.()) ?? service;
          const expect = new Expect(id);
          await withinTime(id, hangMs, check({ service, maxBytes, another, isBusy, loseEvent, platform, expect }));
        } catch (error) {
          throw ConformanceError.isInstance(error) ? error : new ConformanceError(id, 'the case', 'no error', error);
        } finally {
          await subject.close?.();
        }
      },
    }));
}

/** Fails a case whose call does not answer in time, so that the failure names the case. */
async function withinTime(id: string, hangMs: number, work: Promise<void>): Promise<void> {
  let timer: unknown;
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConformanceError(id, 'the case', 'an end', `none in ${hangMs} ms`)), hangMs);
  });
  try {
    await Promise.race([work, hang]);
  } finally {
    clearTimeout(timer as number);
  }
}
