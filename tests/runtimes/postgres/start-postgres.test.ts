import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startPostgres } from './start-postgres.ts';
import { createTestDatabase } from './test-database.ts';
import { Client } from 'pg';

// A server takes a second or two to start, and longer beside others.
const PROGRAM = `
  import { startPostgres } from ${JSON.stringify(import.meta.resolve('./start-postgres.ts'))};
  const { url } = await startPostgres();
  console.log(url);
  setInterval(() => {}, 1000);
`;

async function rows(url: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Resolves when no process listens any more. */
async function untilGone(url: URL): Promise<void> {
  for (;;) {
    const socket = connect(Number(url.port), url.hostname);
    const refused = await once(socket, 'connect').then(
      () => false,
      () => true,
    );
    socket.destroy();
    if (refused) return;
  }
}

test('a server ends when the process that started it is killed', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const url = line.toString().trim();
  expect(await rows(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  child.kill('SIGKILL');
  await untilGone(new URL(url));
});

test('every test database is empty and sorts text by locale', async () => {
  const one = await createTestDatabase();
  const other = await createTestDatabase();
  try {
    await rows(one.url, 'CREATE TABLE notes (id integer)');
    expect(await rows(other.url, `SELECT to_regclass('notes') AS found`)).toEqual([{ found: null }]);
    expect(await rows(one.url, `SELECT 'a' < 'B' AS sorted`)).toEqual([{ sorted: true }]);
  } finally {
    await one.drop();
    await other.drop();
  }
});

test('a restarted server loses its connections and keeps its data; a frozen one answers when it continues', async () => {
  const postgres = await startPostgres();
  try {
    const client = new Client({ connectionString: postgres.url });
    const lost = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    await client.query('CREATE TABLE kept (id integer)');
    await postgres.restart();
    await lost;
    expect(await rows(postgres.url, `SELECT to_regclass('kept') IS NOT NULL AS kept`)).toEqual([{ kept: true }]);
    postgres.freeze();
    let isThawed = false;
    const answer = rows(postgres.url, 'SELECT 1 AS one').then((found) => ({ found, isThawed }));
    // In between, another server answers.
    await (await createTestDatabase()).drop();
    isThawed = true;
    postgres.thaw();
    expect(await answer).toEqual({ found: [{ one: 1 }], isThawed: true });
  } finally {
    await postgres.stop();
  }
});
