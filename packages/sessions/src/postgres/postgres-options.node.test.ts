import { expect, test } from 'vitest';
import { PostgresSessionService } from './postgres-session-service.ts';

test('PostgresSessionService says what to write when it gets no pool', () => {
  expect(() => new PostgresSessionService({} as never)).toThrow(
    'PostgresSessionService: pool must be a pool, is missing; write pool: new Pool({ connectionString }), of the package pg',
  );
});
