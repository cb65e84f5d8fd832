import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Event, getFunctionResponses, type SessionJson, type SessionRecord } from '@eventloom/core';
import { createEncryptionKey } from '@eventloom/credentials';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { expect, test } from 'vitest';
import { type ProgramOptions, startServer, temporaryFolder } from './program.ts';

const SECRET = 'hunter2';

/** An agent that reads data with the user's key, and reports the result. Reading waits until a file exists. */
const READER = `
  import { existsSync, writeFileSync } from 'node:fs';
  import { BaseLlm, FunctionTool, LlmAgent } from 'eventloom';

  class Reader extends BaseLlm {
    constructor() {
      super({ model: 'reader' });
    }
    async *generateContentAsync({ contents }) {
      const isAsked = contents.at(-1).parts[0].text !== undefined;
      const parts = isAsked ? [{ functionCall: { id: 'c', name: 'read', args: {} } }] : [{ text: 'done' }];
      yield { content: { role: 'model', parts }, finishReason: 'STOP' };
    }
  }
  const auth = { authScheme: { type: 'apiKey', in: 'header', name: 'x-key' }, credentialKey: 'library' };
  const read = new FunctionTool({
    name: 'read',
    description: '',
    execute: async (args, context) => {
      const credential = await context.loadCredential(auth);
      if (!credential) return context.requestCredential(auth);
      writeFileSync('reading', '');
      if (!existsSync('readable')) await new Promise(() => undefined);
      return { length: credential.apiKey.length };
    },
  });
  export const rootAgent = new LlmAgent({ name: 'reader', model: new Reader(), tools: [read] });
`;

async function startReader(options: ProgramOptions, ...args: string[]) {
  const server = await startServer(['--agents', 'agents', ...args], options);
  const post = (path: string, body?: unknown): Promise<Response> =>
    fetch(`${server.url}${path}`, { method: 'POST', ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const run = async (sessionId: string, parts: readonly unknown[]): Promise<Event[]> => {
    await post(`/apps/reader/users/ann/sessions/${sessionId}`);
    const answer = await post('/run', { appName: 'reader', userId: 'ann', sessionId, newMessage: { parts } });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Event[];
  };
  const eventsOf = async (sessionId: string): Promise<readonly Event[]> =>
    ((await (await fetch(`${server.url}/apps/reader/users/ann/sessions/${sessionId}`)).json()) as SessionJson).events;
  return {
    run,
    post,
    eventsOf,
    end: (signal: NodeJS.Signals) => server.end(signal),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const asked = (events: readonly Event[]): string[] =>
  events.flatMap(({ longRunningToolIds }) => longRunningToolIds ?? []);
const answer = (id: string | undefined) => ({
  functionResponse: { id, name: 'adk_request_credential', response: { authType: 'apiKey', apiKey: SECRET } },
});
const results = (events: readonly Event[]): unknown[] =>
  events.flatMap(getFunctionResponses).map(({ response }) => response);

/** Returns all files of the folder as text. */
function textsBelow(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => !name.startsWith('agents') && statSync(join(folder, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(folder, name), 'latin1')]));
}

function makeAgents(folder: string): void {
  mkdirSync(join(folder, 'agents/reader'), { recursive: true });
  writeFileSync(join(folder, 'agents/reader/agent.js'), READER);
}

test('a credential outlives the killed processes that requested and saved it, and is stored encrypted', async () => {
  using folder = temporaryFolder();
  makeAgents(folder.path);
  let id: string | undefined;
  const outputs: string[] = [];
  {
    await using first = await startReader({ folder: folder.path });
    const events = await first.run('s', [{ text: 'read' }]);
    [id] = asked(events);
    const { stdout, stderr } = await first.end('SIGKILL');
    outputs.push(JSON.stringify(events), stdout, stderr);
  }
  expect(id).toBeDefined();
  {
    await using second = await startReader({ folder: folder.path });
    const cut = second.run('s', [answer(id)]).catch(() => 'interrupted');
    await expect.poll(() => existsSync(join(folder.path, 'reading'))).toBe(true);
    const { stdout, stderr } = await second.end('SIGKILL');
    expect(await cut).toBe('interrupted');
    outputs.push(stdout, stderr);
  }
  writeFileSync(join(folder.path, 'readable'), '');
  await using third = await startReader({ folder: folder.path });
  // Uses another session, because that of the killed run waits for the end of its lease.
  const events = await third.run('t', [{ text: 'read' }]);
  expect([asked(events), results(events)]).toEqual([[], [{ length: SECRET.length }]]);
  const { stdout, stderr } = await third.end('SIGTERM');
  outputs.push(JSON.stringify(events), stdout, stderr);

  const files = textsBelow(folder.path);
  const key = files.get('.eventloom/credentials.sqlite.key')?.trim() ?? '';
  expect(key).toHaveLength(44);
  expect(statSync(join(folder.path, '.eventloom/credentials.sqlite.key')).mode & 0o777).toBe(0o600);
  for (const [name, text] of files) expect(text.includes(SECRET), name).toBe(false);
  expect(outputs.join()).not.toContain(SECRET);
  expect(outputs.join()).not.toContain(key);
});

test('a key from the environment is not written to disk, and without it credentials are requested again', async () => {
  using folder = temporaryFolder();
  makeAgents(folder.path);
  writeFileSync(join(folder.path, 'readable'), '');
  const key = Buffer.from(createEncryptionKey()).toString('base64');
  const options = { folder: folder.path, environment: { EVENTLOOM_CREDENTIALS_KEY: key } };
  {
    await using server = await startReader(options);
    const [id] = asked(await server.run('s', [{ text: 'read' }]));
    expect(results(await server.run('s', [answer(id)]))).toEqual([{ length: SECRET.length }]);
    await server.end('SIGTERM');
  }
  expect(readdirSync(join(folder.path, '.eventloom'))).not.toContain('credentials.sqlite.key');
  {
    await using server = await startReader(options);
    expect(asked(await server.run('t', [{ text: 'read' }]))).toEqual([]);
  }
  await using server = await startReader({ folder: folder.path });
  expect(asked(await server.run('v', [{ text: 'read' }]))).toHaveLength(1);
});

/** Copies a session in the program's file; the copy is an hour and a second older. */
async function makeOlder(folder: string, sessionId: string, copy: string): Promise<void> {
  const service = new SqliteSessionService({ path: join(folder, '.eventloom/sessions.sqlite') });
  async function* older(): AsyncGenerator<SessionRecord> {
    for await (const record of service.exportSession({ appName: 'reader', userId: 'ann', sessionId })) {
      if (record.type !== 'event') yield record;
      else yield { ...record, event: { ...record.event, timestamp: record.event.timestamp - 3601 } };
    }
  }
  await service.importSession({ records: older(), sessionId: copy });
  service.close();
}

test('an expired credential request is refused', async () => {
  using folder = temporaryFolder();
  makeAgents(folder.path);
  writeFileSync(join(folder.path, 'readable'), '');
  await using server = await startReader({ folder: folder.path }, '--request-ttl', '1h');
  const [id] = asked(await server.run('s', [{ text: 'read' }]));
  await makeOlder(folder.path, 's', 'long-ago');
  expect(results(await server.run('long-ago', [answer(id)]))[0]).toHaveProperty('error');
  expect(asked(await server.run('t', [{ text: 'read' }]))).toHaveLength(1);
});
