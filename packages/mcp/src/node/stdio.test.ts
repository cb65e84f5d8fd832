import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { StreamableHTTPConnectionParams } from '../connection-params.ts';
import { calling, play, responsesOf } from '../fixtures/play.ts';
import { MCPToolset } from '../mcp-toolset.ts';
import { StdioConnectionParams } from './index.ts';

const run = promisify(execFile);

/**
 * Returns a free port for a server that takes no port 0. It is below those that systems choose for other servers and
 * for connections, so that nobody gets it before the server listens.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const listener = createServer().listen(port);
    const isFree = await once(listener, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    listener.close();
    await once(listener, 'close');
    return port;
  }
}

const EVERYTHING = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

test('server-everything over stdio: its tools are offered and called', async () => {
  const toolset = new MCPToolset({
    connectionParams: new StdioConnectionParams({
      serverParams: { command: process.execPath, args: [EVERYTHING, 'stdio'] },
    }),
  });
  const { say, runner } = await play(toolset, [
    calling(
      { id: 'a', name: 'echo', args: { message: 'hi' } },
      { id: 'b', name: 'get-sum', args: { a: 2, b: 3 } },
      { id: 'c', name: 'get-tiny-image', args: {} },
      { id: 'd', name: 'get-structured-content', args: { location: 'New York' } },
      { id: 'e', name: 'trigger-long-running-operation', args: { duration: 0.1, steps: 2 } },
    ),
    'done',
  ]);
  const events = await say('go');
  expect(toolset.name).toBe('index.js');
  expect(responsesOf(events)).toMatchObject([
    { result: 'Echo: hi' },
    { result: 'The sum of 2 and 3 is 5.' },
    {
      content: [expect.stringContaining('image'), { type: 'image', mimeType: 'image/png', part: 0 }, expect.anything()],
    },
    { temperature: 33, conditions: 'Cloudy', humidity: 82 },
    { result: expect.stringContaining('completed') },
  ]);
  const progress = events.flatMap(({ partial, content }) => (partial && content?.parts?.[0]?.functionResponse) || []);
  // The client library drops a report that arrives together with the result: the last one, on a fast machine.
  expect(progress[0]).toMatchObject({ id: 'e', response: { output: { progress: 1, total: 2 } } });
  await runner.close();
});

test('server-everything over HTTP: five calls of a turn go over one session', async () => {
  const port = await freePort();
  const server = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void server.kill());
  let said = '';
  await new Promise<void>((resolve) =>
    server.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('listening')) resolve();
    }),
  );
  const url = `http://127.0.0.1:${port}/mcp`;
  const sessions = new Set<string | null>();
  const toolset = new MCPToolset({
    connectionParams: new StreamableHTTPConnectionParams({
      url,
      fetch: (to, init) => {
        const isCall = typeof init?.body === 'string' && init.body.includes('"tools/call"');
        if (isCall) sessions.add(new Headers(init.headers).get('mcp-session-id'));
        return fetch(to, init);
      },
    }),
  });
  const sums = [1, 2, 3, 4, 5].map((a) => ({ id: `s${a}`, name: 'get-sum', args: { a, b: 1 } }));
  const { say, runner } = await play(toolset, [calling(...sums), 'done']);
  expect(responsesOf(await say('go'))).toEqual(
    sums.map(({ args: { a } }) => ({ result: `The sum of ${a} and 1 is ${a + 1}.` })),
  );
  expect([...sessions]).toEqual([expect.stringMatching(/./)]);
  await runner.close();
});

test('a command that does not exist makes the server unavailable, by name', async () => {
  const toolset = new MCPToolset({
    name: 'files',
    connectionParams: new StdioConnectionParams({ serverParams: { command: 'no-such-program-here' } }),
  });
  await expect(toolset.getTools()).rejects.toMatchObject({
    code: 'MCP_CONNECTION',
    message:
      'MCP server "files": cannot connect to the process no-such-program-here: ENOENT: no such program or folder; install the program, or write its whole path as serverParams.command',
  });
});

test('a program that closes its runner continues once the server has ended', async () => {
  const [program, server] = ['closing-process.ts', 'odd-server.ts'].map((name) =>
    fileURLToPath(import.meta.resolve(`../fixtures/${name}`)),
  );
  const { stdout } = await run(process.execPath, [program ?? '', process.execPath, server ?? '', 'answers']);
  expect(stdout).toBe('closed');
});

test('a program that lists the tools itself ends without closing the toolset', async () => {
  const [program, server] = ['listing-process.ts', 'odd-server.ts'].map((name) =>
    fileURLToPath(import.meta.resolve(`../fixtures/${name}`)),
  );
  const { stdout } = await run(process.execPath, [program ?? '', process.execPath, server ?? '', 'answers']);
  expect(stdout).toBe('done');
});

describe('a process that', () => {
  const ODD = fileURLToPath(import.meta.resolve('../fixtures/odd-server.ts'));
  const toolsetOf = (behaviour: string, limits: object = {}) =>
    new MCPToolset({
      name: 'odd',
      connectionParams: new StdioConnectionParams({
        serverParams: { command: process.execPath, args: [ODD, behaviour] },
        ...limits,
      }),
    });
  const call = calling({ id: 'c', name: 'f', args: {} });

  /** Returns the response to a call of `f`. */
  async function responseOf(behaviour: string, limits: object = {}) {
    const { say, runner } = await play(toolsetOf(behaviour, limits), [call, 'done']);
    const [response] = responsesOf(await say('go'));
    await runner.close();
    return response;
  }

  test('ends at once is unavailable: the error has its exit code and says how to see its messages', async () => {
    await expect(toolsetOf('ends').getTools()).rejects.toMatchObject({
      code: 'MCP_CONNECTION',
      message: expect.stringContaining(
        "the process ended (exit code 3); run its command in a terminal, or write stderr: 'inherit' in serverParams, to see why",
      ),
    });
  });

  test('ends in the middle of a call gives the model its exit code', async () => {
    expect(await responseOf('ends in a call')).toEqual({
      error:
        'MCP server "odd": the connection broke: the process ended (exit code 9); the call may or may not have had its effect',
    });
  });

  test.each(['large', 'endless'])(
    'writes a message above maxMessageBytes (%s) is refused by its size',
    async (behaviour) => {
      const toolset = toolsetOf(behaviour, { maxMessageBytes: 50_000 });
      const { say, runner } = await play(toolset, [call, 'done']);
      const answered = await say('go').then(
        (events) => JSON.stringify(responsesOf(events)),
        (error: unknown) => String(error),
      );
      expect(answered).toContain('a message has more than 50000 bytes');
      await runner.close();
    },
  );

  test('wrote a message above maxMessageBytes is replaced by another one for the next call', async () => {
    const toolset = toolsetOf('large', { maxMessageBytes: 50_000 });
    const { say, runner } = await play(toolset, [call, calling({ id: 'd', name: 'f', args: { small: true } }), 'done']);
    expect(responsesOf(await say('go'))).toEqual([
      { error: expect.stringContaining('a message has more than 50000 bytes') },
      { result: 'small' },
    ]);
    await runner.close();
  });

  test('writes logs to its output works', async () => {
    expect(await responseOf('writes logs')).toEqual({ result: expect.stringMatching(/^\d+$/) });
  });

  test('does not answer the request for its protocol version is used with the protocol before 2026-07-28', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const toolset = toolsetOf('ignores what it does not know', { timeoutMs: 30_000 });
      const listing = toolset.getTools();
      // One timer limits the whole attempt, the other the question.
      while (vi.getTimerCount() < 2) await new Promise(setImmediate);
      vi.advanceTimersByTime(15_000);
      vi.useRealTimers();
      expect((await listing).map(({ name }) => name)).toEqual(['f']);
      await toolset.close();
    } finally {
      vi.useRealTimers();
    }
  });

  test('never answers is unavailable: the error says how to see why', async () => {
    await expect(toolsetOf('says nothing', { timeoutMs: 1 }).getTools()).rejects.toMatchObject({
      code: 'MCP_CONNECTION',
      message:
        'MCP server "odd": did not answer in time; raise timeoutMs if it starts slowly, write env in serverParams if it needs more of the environment, or stderr: \'inherit\' to see what it writes',
    });
  });

  test('has started another process, which holds its output open, does not keep the runner from closing', async () => {
    const { result } = (await responseOf('starts another')) ?? {};
    expect(process.kill(Number(result), 'SIGKILL')).toBe(true);
  });
});
