// The contract of run relays as cases for any test runner.

import {
  type ConformanceCase,
  conformanceCases,
  type ConformanceOptions,
  type MakeService,
} from '@eventloom/core/conformance';
import type { RunRelay } from '../runs/run-relay.ts';
import { relayRules } from './relay-rules.ts';

export type { ConformanceCase, ConformanceOptions, MakeService, ServiceUnderTest } from '@eventloom/core/conformance';
export { ConformanceError } from '@eventloom/core/conformance';
export { InMemoryRunRelay, RunNetwork } from './in-memory-run-relay.ts';

/**
 * Returns the contract of `RunRelay` as cases for any test runner: run each; a broken rule rejects with a ConformanceError that names it.
 * Every case creates its own relays: `another` returns the relay of a second process. Neither is attached to a server.
 *
 * ```ts
 * for (const { id, title, run } of runRelayConformance(makeService)) test(`${id}: ${title}`, run);
 * ```
 * @throws ConfigurationError for a deviation from a case that does not exist
 */
export function runRelayConformance(
  makeRelay: MakeService<RunRelay>,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  return conformanceCases(relayRules, makeRelay, options);
}
