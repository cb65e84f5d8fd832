import { Client } from 'pg';
import { expect, test } from 'vitest';
import { PostgresSessionService } from './postgres-session-service.ts';

test('PostgresSessionService says what to write when it gets a client in place of a pool', () => {
  expect(() => new PostgresSessionService({ pool: new Client() as never })).toThrow(
    'PostgresSessionService: pool: expected a pool, got a client with one connection; write pool: new Pool({ connectionString })',
  );
});

test('PostgresSessionService says what to write when it gets no pool', () => {
  expect(() => new PostgresSessionService({} as never)).toThrow(
    'PostgresSessionService: pool: expected a pool, got nothing; write pool: new Pool({ connectionString }), with Pool of the package pg',
  );
  expect(() => new PostgresSessionService(undefined as never)).toThrow(
    'expected an object of options, got nothing; write new PostgresSessionService({ pool: new Pool({ connectionString }) }), with Pool of the package pg',
  );
});
