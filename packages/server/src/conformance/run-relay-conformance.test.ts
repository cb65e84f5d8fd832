import { type MakeService, mutationCases } from '@eventloom/core/conformance';
import { describe, test } from 'vitest';
import type { RunRelay } from '../runs/run-relay.ts';
import { InMemoryRunRelay, RunNetwork, runRelayConformance } from './index.ts';
import { relayMutants } from './relay-mutants.ts';

describe('a relay in memory', () => {
  const cases = runRelayConformance(async () => {
    const network = new RunNetwork();
    return { service: new InMemoryRunRelay(network), another: () => new InMemoryRunRelay(network) };
  });
  test.each(cases)('$id: $title', ({ run }) => run());
});

const suite = (make: MakeService<RunRelay>) => runRelayConformance(make, { hangMs: 500 });

test.each(mutationCases(suite, relayMutants))('$id $title', ({ run }) => run());
