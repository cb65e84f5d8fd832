import type { RelayTables } from './relay-tables.ts';

/**
 * The tables are unlogged: nothing in them is history, and after a crash of the database they are empty. All times are the
 * database's, so that the clocks of the hosts need not agree.
 *
 * `run_key` is of the run's session and id, because runs of imported sessions have the ids of others. `state` is `running`, `ended`, or `dropped` when the host no longer publishes the run; `stop` is what the host is asked to do,
 * `cancel` or `forget`, or `hidden` when the host itself lets nobody find the run any more. `expires_at` is set when a run ends, or its host is found gone. A row of chunks holds the frames of one write
 * behind `after_position`, a line each with its position; they are not compressed, because they are read a moment later and then dropped.
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

/** Each step brings a database from version `index` to `index + 1`, statement by statement. A step that was released is never edited. */
export const migrations: readonly ((tables: RelayTables) => readonly string[])[] = [first];
