// What the services in SQLite files share. Needs node:sqlite; only the packages of Eventloom import it.

export { LockLine } from './lock-line.ts';
export { SqliteTransactions, storedVersion } from './sqlite-transactions.ts';
export { type OpenSqlite, openSqlite } from './open-sqlite.ts';
