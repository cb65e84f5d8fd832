import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Event, SessionJson } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { runProgram, startServer, temporaryFolder } from './program.ts';

const SESSION = '/apps/demo/users/ann/sessions/s';
const ask = (text: string, more: object = {}): RequestInit => ({
  method: 'POST',
  body: JSON.stringify({ appName: 'demo', userId: 'ann', sessionId: 's', newMessage: { parts: [{ text }] }, ...more }),
});
const textsOf = (events: readonly Event[]): (string | undefined)[] =>
  events.map(({ content }) => content?.parts?.[0]?.text);

/** An agent that answers when a file exists. */
const SLOW = `
  import { existsSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  import { BaseLlm, LlmAgent } from 'eventloom';

  class Slow extends BaseLlm {
    constructor() {
      super({ model: 'slow' });
    }
    async *generateContentAsync() {
      while (!existsSync('enough')) await setTimeout(20);
      yield { content: { role: 'model', parts: [{ text: 'done' }] }, finishReason: 'STOP' };
    }
  }
  export const rootAgent = new LlmAgent({ name: 'slow', model: new Slow() });
`;
const SLOW_SESSION = '/apps/slow/users/ann/sessions/s';

function slowAgent(folder: string): string {
  mkdirSync(join(folder, 'agents/slow'), { recursive: true });
  writeFileSync(join(folder, 'agents/slow/agent.js'), SLOW);
  return folder;
}

async function beginSlowRun(url: string): Promise<Response> {
  await fetch(`${url}${SLOW_SESSION}`, { method: 'POST' });
  return fetch(`${url}/run_sse`, ask('go', { appName: 'slow', streaming: true }));
}

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version']);
    return true;
  } catch {
    return false;
  }
}

describe('a server started without options', () => {
  test('prints its address, and commands to try', async () => {
    using folder = temporaryFolder();
    await using server = await startServer([], { folder: folder.path });
    expect(server.readyText).toMatch(
      /^Eventloom serves demo at http:\/\/127\.0\.0\.1:\d+\nOpen http:\/\/127\.0\.0\.1:\d+\/studio in a browser\.\nOr try it in another terminal:\n\ncurl /,
    );
    expect(await (await fetch(`${server.url}/list-apps`)).json()).toEqual(['demo']);
    expect(await server.end('SIGTERM')).toEqual({ code: 0, stdout: `${server.readyText}\n`, stderr: '' });
  });

  test.skipIf(!hasCurl())('prints curl commands that work when pasted, repeatedly too', async () => {
    using folder = temporaryFolder();
    await using server = await startServer([], { folder: folder.path });
    const curl = server.readyText.split('terminal:')[1] ?? '';
    for (const _time of [1, 2]) {
      const { stdout } = await promisify(execFile)('sh', ['-c', curl]);
      expect(stdout).toMatch(/^data: \{/);
      expect(stdout).toContain('In Rome it is 24 °C and sunny. 17% of 340 is 57.8.');
    }
  });

  test('runs its demo tools: weather, arithmetic, a note in state and an artifact', async () => {
    using folder = temporaryFolder();
    await using server = await startServer([], { folder: folder.path });
    await fetch(`${server.url}${SESSION}`, { method: 'POST' });
    const text = 'Weather in Oslo? And 2 + 3 * 4? Note that I like tea. Save a file list.txt with "eggs".';
    const events = (await (await fetch(`${server.url}/run`, ask(text))).json()) as Event[];
    const calls = events[0]?.content?.parts?.map(({ functionCall }) => functionCall?.name);
    expect(calls).toEqual(['get_weather', 'calculate', 'save_note', 'save_file']);
    expect(events[1]?.actions).toMatchObject({
      stateDelta: { 'user:notes': ['I like tea'] },
      artifactDelta: { 'list.txt': 0 },
    });
    const part = (await (await fetch(`${server.url}${SESSION}/artifacts/list.txt`)).json()) as {
      inlineData: { data: string };
    };
    expect(Buffer.from(part.inlineData.data, 'base64').toString()).toBe('eggs');
  });

  test('keeps committed events after a kill', async () => {
    using folder = temporaryFolder();
    {
      await using server = await startServer([], { folder: folder.path });
      await fetch(`${server.url}${SESSION}`, { method: 'POST', body: '{"mood": "good"}' });
      await (await fetch(`${server.url}/run`, ask('2 + 2'))).json();
      expect((await server.end('SIGKILL')).code).toBeNull();
    }
    await using server = await startServer([], { folder: folder.path });
    const session = (await (await fetch(`${server.url}${SESSION}`)).json()) as SessionJson;
    expect(session.state).toEqual({ mood: 'good' });
    expect(textsOf(session.events)).toEqual(['2 + 2', undefined, undefined, expect.stringContaining('2 + 2 is 4.')]);
  });

  test('exits with 0 at SIGTERM after a run in flight has finished', async () => {
    using folder = temporaryFolder();
    await using server = await startServer(['--drain', '10m', '--agents', 'agents'], {
      folder: slowAgent(folder.path),
    });
    const response = await beginSlowRun(server.url);
    const ended = server.end('SIGTERM');
    await expect.poll(() => server.warnings).toContain('finishing 1 run');
    writeFileSync(join(folder.path, 'enough'), '');
    const text = await response.text();
    expect(text).toContain('retry: ');
    expect(text).toContain('"done"');
    expect(await ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/^eventloom: finishing 1 run, .*\n$/) });
  });
});

/** Replaces the timer of an hour in a program: it runs when the program gets the signal SIGUSR2. */
const TIME_PASSES_AT_A_SIGNAL = `
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (run, ms, ...values) =>
    ms === 3_600_000 ? process.once('SIGUSR2', run) : setTimeout(run, ms, ...values);
`;

/** Sends SIGTERM to a program when it begins to load its packages. */
const SIGNAL_DURING_THE_START = `
  import { registerHooks } from 'node:module';
  const hooks = registerHooks({
    resolve(name, context, next) {
      if (name.startsWith('@eventloom/')) {
        hooks.deregister();
        process.kill(process.pid, 'SIGTERM');
      }
      return next(name, context);
    },
  });
`;

test('a server that gets SIGTERM while it starts ends, also as the first process of a container', async () => {
  using folder = temporaryFolder();
  const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(SIGNAL_DURING_THE_START)}` };
  const args = ['start', '--port', '0', '--agents', 'agents'];
  const { code } = await runProgram(args, { folder: slowAgent(folder.path), environment });
  // Not null, which is the end by a signal that the program does not handle: the first process of a container ignores it.
  expect([0, 143]).toContain(code);
});

test('a server answers new connections with 503 on /readyz after SIGTERM until it stops listening', async () => {
  using folder = temporaryFolder();
  const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TIME_PASSES_AT_A_SIGNAL)}` };
  await using server = await startServer(['--unready', '1h', '--drain', '10m', '--agents', 'agents'], {
    folder: slowAgent(folder.path),
    environment,
  });
  const response = await beginSlowRun(server.url);
  const ended = server.end('SIGTERM');
  // A probe that got 200 was sent before the signal arrived.
  const probe = async () => {
    const answer = await fetch(`${server.url}/readyz`, { headers: { connection: 'close' } });
    return [answer.status, await answer.json()];
  };
  await expect.poll(probe).toEqual([503, { status: 'shutting down' }]);
  const refused = await fetch(`${server.url}/run`, ask('2 + 2', { appName: 'slow', sessionId: 'other' }));
  expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('connection')]).toEqual([
    503,
    '1',
    'close',
  ]);
  expect(await refused.json()).toMatchObject({
    code: 'SHUTTING_DOWN',
    error: expect.stringContaining('try again'),
  });
  expect((await fetch(`${server.url}${SLOW_SESSION}`)).status).toBe(200);
  writeFileSync(join(folder.path, 'enough'), '');
  expect(await response.text()).toContain('"done"');
  server.signal('SIGUSR2');
  expect((await ended).code).toBe(0);
  await expect(fetch(`${server.url}/livez`)).rejects.toThrow();
});

describe('options', () => {
  test('store nothing on disk with the address memory:', async () => {
    using folder = temporaryFolder();
    const options = ['--sessions', 'memory:', '--artifacts', 'memory:'];
    await using server = await startServer(options, { folder: folder.path });
    expect((await fetch(`${server.url}${SESSION}`, { method: 'POST' })).status).toBe(200);
    expect(execFileSync('ls', ['-A', folder.path], { encoding: 'utf8' })).toBe('');
  });

  test('that do not exist are refused with the nearest one', async () => {
    using folder = temporaryFolder();
    expect(await runProgram(['--sesions', 'memory:'], { folder: folder.path })).toEqual({
      code: 2,
      stdout: '',
      stderr: 'eventloom: there is no option --sesions; did you mean --sessions?\n',
    });
  });

  test('refuse to listen on all hosts without authentication', async () => {
    using folder = temporaryFolder();
    for (const host of ['0.0.0.0', '127.evil.example']) {
      const result = await runProgram(['--host', host], { folder: folder.path });
      expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('--allow-unauthenticated') });
    }
  });

  test('with --allow-unauthenticated on another host still check the Host header on loopback', async () => {
    using folder = temporaryFolder();
    await using server = await startServer(['--allow-unauthenticated'], { folder: folder.path });
    const statusUnder = async (host: string): Promise<number | undefined> => {
      const [answer] = (await once(get(`${server.url}/list-apps`, { headers: { host } }), 'response')) as [
        IncomingMessage,
      ];
      answer.resume();
      return answer.statusCode;
    };
    expect([await statusUnder('localhost'), await statusUnder('rebound.example')]).toEqual([200, 403]);
  });

  test('refuse a file as the artifact folder', async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, 'file'), '');
    const args = ['--port', '0', '--sessions', 'memory:', '--artifacts', 'file:file'];
    expect(await runProgram(args, { folder: folder.path })).toEqual({
      code: 2,
      stdout: '',
      stderr: `eventloom: --artifacts file:${join(folder.path, 'file')}: is not a folder; write the path of a folder, or of one that can be created\n`,
    });
  });

  test('report a port that is in use', async () => {
    using folder = temporaryFolder();
    await using server = await startServer([], { folder: folder.path });
    const { port } = new URL(server.url);
    const result = await runProgram(['--port', port, '--sessions', 'memory:'], { folder: folder.path });
    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^eventloom: .*another process listens there.* --port .*\n$/),
    });
  });

  test('are listed by --help', async () => {
    using folder = temporaryFolder();
    const { code, stdout } = await runProgram(['--help'], { folder: folder.path });
    expect([code, stdout]).toEqual([0, expect.stringContaining('--agents <folder>')]);
  });
});
