import { useTestDatabase } from '@eventloom/test-postgres';
import { describe, test } from 'vitest';
import { runRelayConformance } from '../conformance/index.ts';
import { PostgresRunRelay } from './postgres-run-relay.ts';

const { pool } = useTestDatabase();
describe('the PostgreSQL relay', () => {
  const cases = runRelayConformance(async () => {
    const relays: PostgresRunRelay[] = [];
    const another = (): PostgresRunRelay => {
      const relay = new PostgresRunRelay({ pool });
      relays.push(relay);
      return relay;
    };
    const close = async (): Promise<void> => void (await Promise.all(relays.map((relay) => relay.close())));
    return { service: another(), another, close };
  });
  test.each(cases)('$id: $title', ({ run }) => run());
});
