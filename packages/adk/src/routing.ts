import { ConfigurationError } from '@eventloom/core';
import { isRecord, wrongOption } from '@eventloom/core/internal';
import { describeOwnOrAdk } from './class-checks.ts';

/** The earlier choices of a router that failed, and the error of the last one. */
export interface RoutingErrorContext {
  readonly failedKeys: ReadonlySet<string>;
  readonly lastError: unknown;
}

/** The items to choose from, how one is chosen, and how it runs. */
interface Routing<T, V> {
  /** Beginning of error messages, which names the object that routes. */
  readonly owner: string;
  readonly items: Readonly<Record<string, T>>;
  choose(errorContext?: RoutingErrorContext): Promise<string | undefined> | string | undefined;
  run(item: T): AsyncGenerator<V, void, void>;
  /**
   * Returns true for a value that reports the failure right after it. Such values are dropped if another item runs.
   * Default: no value does.
   */
  reportsFailure?(value: V): boolean;
}

/**
 * Checks the items that a router chooses from.
 * @param wanted describes one item: `an agent`
 * @throws ConfigurationError if there are none, and for one of another kind
 */
export function checkRouting(
  owner: string,
  option: string,
  items: unknown,
  wanted: string,
  isItem: (value: unknown) => boolean,
): void {
  const example = '{ quick, thorough }';
  const isList = Array.isArray(items);
  if (!isList && !isRecord(items)) throw wrongOption(owner, option, `${option} by name, or a list`, items, example);
  const entries = isList ? [...items.entries()] : Object.entries(items);
  if (entries.length === 0)
    throw new ConfigurationError(`${owner}: ${option}: has nothing to choose from; write ${option}: ${example}`);
  for (const [key, item] of entries)
    if (!isItem(item))
      throw new ConfigurationError(
        `${owner}: ${option}[${JSON.stringify(key)}]: expected ${wanted}, got ${describeOwnOrAdk(item)}; write ${option}: ${example}`,
      );
}

/** Checks a router. @throws ConfigurationError for a missing router */
export function checkRouter(owner: string, router: unknown): void {
  if (typeof router !== 'function') throw wrongOption(owner, 'router', 'a function', router, "() => 'quick'");
}

/**
 * Runs the chosen item. If it fails before its first value, the next choice runs; undefined, or the key of an item that failed, ends with
 * the error.
 * @throws ConfigurationError if the first choice is undefined, or for an unknown key
 */
export async function* runWithRouting<T, V>(routing: Routing<T, V>): AsyncGenerator<V, void, void> {
  const { owner, items } = routing;
  const keys = Object.keys(items).join(', ');
  const failedKeys = new Set<string>();
  let key = await routing.choose();
  if (!key) throw new ConfigurationError(`${owner}: the router returned no key; return one of ${keys}`);
  for (;;) {
    const item: T | undefined = Object.hasOwn(items, key) ? items[key] : undefined;
    if (item === undefined)
      throw new ConfigurationError(
        `${owner}: the router returned the unknown key ${JSON.stringify(key)}; return one of ${keys}`,
      );
    let hasBegun = false;
    const reports: V[] = [];
    try {
      for await (const value of routing.run(item)) {
        if (!hasBegun && routing.reportsFailure?.(value)) {
          reports.push(value);
          continue;
        }
        hasBegun = true;
        yield* reports.splice(0);
        yield value;
      }
      yield* reports;
      return;
    } catch (error) {
      failedKeys.add(key);
      const next = hasBegun ? undefined : await routing.choose({ failedKeys, lastError: error });
      if (next === undefined || failedKeys.has(next)) {
        yield* reports;
        throw error;
      }
      key = next;
    }
  }
}
