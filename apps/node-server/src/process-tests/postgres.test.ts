import { createTestDatabase } from '@eventloom/test-postgres';
import { describe, expect, test } from 'vitest';
import { runProgram, startServer, temporaryFolder } from './program.ts';

describe('sessions in a database', () => {
  test('are continued by another process, and the program exits when it is done', async () => {
    using folder = temporaryFolder();
    const database = await createTestDatabase();
    const options = ['--sessions', database.url, '--session', 's', '--user', 'ann'];
    const first = await runProgram(['ask', 'note that I like tea', ...options], { folder: folder.path });
    expect([first.code, first.stderr]).toEqual([0, '']);
    const second = await runProgram(['ask', 'what are my notes?', ...options], { folder: folder.path });
    expect([second.code, second.stderr]).toEqual([0, '']);
    expect(second.stdout).toContain('Your notes: I like tea.');
    await using server = await startServer(['--sessions', database.url], { folder: folder.path });
    const response = await fetch(`${server.url}/apps/demo/users/ann/sessions/s`);
    expect(await response.json()).toMatchObject({ id: 's', state: { 'user:notes': ['I like tea'] } });
    expect((await server.end('SIGTERM')).code).toBe(0);
    await database.drop();
  });

  test('that cannot be reached end the program with one line without the password', async () => {
    using folder = temporaryFolder();
    const url = 'postgres://ada:secret@127.0.0.1:1/agents';
    const result = await runProgram(['start', '--port', '0', '--sessions', url], { folder: folder.path });
    expect(result).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^eventloom: cannot keep sessions in postgres:\/\/ada@127\.0\.0\.1:1\/agents: .*ECONNREFUSED.*\n$/,
      ),
    });
  });
});
