import { expect, test } from 'vitest';
import { PostgresRunRelay } from './postgres-run-relay.ts';

test.each([
  [undefined, 'expected an object of options, got nothing; write new PostgresRunRelay({ pool: new Pool('],
  [
    {},
    'PostgresRunRelay: pool: expected a pool, got nothing; write pool: new Pool({ connectionString }), with Pool of',
  ],
  [{ leaseMs: Infinity }, 'PostgresRunRelay: leaseMs: expected a number from 1 to 86400000, got the number Infinity'],
  [
    { leaseMs: 0 },
    'PostgresRunRelay: leaseMs: expected a number from 1 to 86400000, got the number 0; write leaseMs: ',
  ],
  [
    { schema: 'pg_mine', pool: { query: () => undefined } },
    'PostgresRunRelay: schema "pg_mine": PostgreSQL reserves names that begin with pg_; choose',
  ],
  [{ maxKeptChars: Infinity }, 'PostgresRunRelay: maxKeptChars: expected a number from 1 to 9007199254740991, got the'],
])('PostgresRunRelay with the options %o says what to write', (options, message) => {
  expect(() => new PostgresRunRelay(options as never)).toThrow(message);
});
