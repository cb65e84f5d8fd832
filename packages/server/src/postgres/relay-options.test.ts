import { expect, test } from 'vitest';
import { PostgresRunRelay } from './postgres-run-relay.ts';

test.each([
  [undefined, 'expected an object of options, got nothing; write new PostgresRunRelay({ pool: new Pool('],
  [
    {},
    'PostgresRunRelay: pool: expected a pool, got nothing; write pool: new Pool({ connectionString }), with Pool of',
  ],
])('PostgresRunRelay with the options %j says what to write', (options, message) => {
  expect(() => new PostgresRunRelay(options as never)).toThrow(message);
});
