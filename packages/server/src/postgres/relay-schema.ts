import type { RelayTables } from './relay-tables.ts';

/**
 * Tables of a relay. They are unlogged: they have no history, and are empty after a crash of the database. All times are the database's, so
 * the clocks of the hosts may differ.
 *
 * `run_key` has the session and the id of the run, because runs of imported sessions may have the same ids. `state` is `running`, `ended`,
 * or `dropped` if the host no longer publishes the run. `stop` is the request to the host: `cancel` or `forget`, or `hidden` if the host
 * itself made the run unfindable. `expires_at` is set when a run ends or its host is found dead. A row of chunks has the frames of one
 * write after `after_position`, one line each with its position. Frames are not compressed, because they are soon read and deleted.
 */
const first = ({ hosts, runs, chunks }: RelayTables): string[] => [
  `CREATE UNLOGGED TABLE ${hosts} (
    host uuid PRIMARY KEY,
    lease_until timestamptz NOT NULL
  )`,
  `CREATE UNLOGGED TABLE ${runs} (
    run_key text COLLATE "C" PRIMARY KEY,
    invocation_id text COLLATE "C" NOT NULL,
    request_id text COLLATE "C",
    host uuid NOT NULL,
    app_name text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    keep_ms double precision NOT NULL,
    attempt bigint NOT NULL,
    gone_position bigint NOT NULL,
    last_position bigint NOT NULL,
    chars bigint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'running',
    is_followed boolean NOT NULL DEFAULT false,
    stop text,
    expires_at timestamptz
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX eventloom_relay_runs_of_session ON ${runs} (session_id, user_id, app_name)`,
  `CREATE INDEX eventloom_relay_runs_by_expiry ON ${runs} (expires_at)`,
  `CREATE INDEX eventloom_relay_runs_to_stop ON ${runs} (host) WHERE stop IS NOT NULL`,
  `CREATE UNLOGGED TABLE ${chunks} (
    run_key text COLLATE "C" NOT NULL,
    after_position bigint NOT NULL,
    last_position bigint NOT NULL,
    frames text NOT NULL,
    PRIMARY KEY (run_key, last_position)
  )`,
  `ALTER TABLE ${chunks} ALTER COLUMN frames SET STORAGE EXTERNAL`,
];

/** Each step migrates a database from version `index` to `index + 1`, statement by statement. A released step is never edited. */
export const migrations: readonly ((tables: RelayTables) => readonly string[])[] = [first];
