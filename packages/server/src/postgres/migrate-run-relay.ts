import { ConfigurationError } from '@eventloom/core';
import { listenToClient, migrateTables, type PostgresPool, versionOf } from '@eventloom/core/internal';
import { migrations } from './relay-schema.ts';
import type { RelayTables } from './relay-tables.ts';

/**
 * Migrates the relay's tables to the version of this program.
 *
 * @throws ConfigurationError if a newer program created the tables
 */
export async function migrateRunRelay(pool: PostgresPool, tables: RelayTables): Promise<void> {
  const place = { meta: tables.meta, versionKey: 'relay.schema', schema: tables.schema };
  const version = await versionOf(pool, place);
  checkVersion(version);
  if (version === migrations.length) return;
  const client = await pool.connect();
  listenToClient(client);
  let isBroken = false;
  try {
    await migrateTables(
      client,
      place,
      migrations.map((step) => step(tables)),
      checkVersion,
    );
  } catch (error) {
    await client.query({ text: 'ROLLBACK' }).catch(() => void (isBroken = true));
    throw error;
  } finally {
    client.release(isBroken);
  }
}

function checkVersion(version: number): void {
  if (version > migrations.length)
    throw new ConfigurationError(
      `the run relay's tables have version ${version}, and this program supports versions up to ${migrations.length}; update @eventloom/server`,
    );
}
