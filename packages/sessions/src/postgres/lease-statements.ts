import { type Statement, toStatement } from './statement.ts';
import { quoteText, type Tables } from './tables.ts';

const KEY = 'app_name = $1 AND user_id = $2 AND session_id = $3';
/** $4 is the epoch. */
const UNDER_LEASE = `${KEY} AND epoch = $4 AND lease_until > 0`;

/** What came of a claim: the new epoch, or null; and until when the session was held as it began. */
export interface ClaimRow {
  readonly epoch: unknown;
  readonly lease_until: unknown;
}

/** The statements about leases. All begin with $1 app, $2 user, $3 session; what finds no row did nothing. */
export type LeaseStatements = ReturnType<typeof leaseStatements>;

export function leaseStatements({ sessions, toolCalls, epochs }: Tables) {
  return {
    /** $4 now, $5 how long, $6 whether to take it from an owner. One sequence counts for all: no epoch ever comes back. */
    claim: toStatement(`
      WITH claimed AS (
        UPDATE ${sessions} SET
          epoch = nextval(${quoteText(epochs)}),
          lease_until = $4::double precision + $5::double precision
        WHERE ${KEY} AND ($6::boolean OR lease_until <= $4)
        RETURNING epoch
      )
      SELECT (SELECT epoch FROM claimed) AS epoch, lease_until FROM ${sessions} WHERE ${KEY}`),

    /** $5 until when. */
    renew: toStatement(`UPDATE ${sessions} SET lease_until = $5 WHERE ${UNDER_LEASE} RETURNING 1`),

    release: toStatement(`UPDATE ${sessions} SET lease_until = 0 WHERE ${UNDER_LEASE}`),

    /** $5 invocation, $6 call, $7 name, $8 status, $9 response, $10 actions. The lock keeps the lease live until the call is written. */
    recordToolCall: toStatement(`
      WITH held AS (SELECT pk FROM ${sessions} WHERE ${UNDER_LEASE} FOR NO KEY UPDATE), recorded AS (
        INSERT INTO ${toolCalls} AS earlier (session, invocation_id, call_id, name, status, response, actions)
        SELECT pk, $5, $6, $7, $8, $9, $10 FROM held
        ON CONFLICT (session, invocation_id, call_id) DO UPDATE
          SET name = excluded.name, status = excluded.status, response = excluded.response, actions = excluded.actions
          WHERE earlier.status <> 'finished'
      )
      SELECT 1 FROM held`),
  } satisfies Readonly<Record<string, Statement>>;
}
