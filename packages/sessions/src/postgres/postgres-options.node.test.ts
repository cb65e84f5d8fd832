import { expect, test } from 'vitest';
import { PostgresSessionService } from './postgres-session-service.ts';

test('PostgresSessionService says what to write when it gets no pool', () => {
  expect(() => new PostgresSessionService({} as never)).toThrow(
    'PostgresSessionService: pool: expected a pool, got nothing; write pool: new Pool({ connectionString }), of the package pg',
  );
});
