import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Readable, Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';

const ID_HEADER = 'eventloom-invocation-id';

/** A program that embeds the server; its first uncaught error ends it. */
interface Program extends Disposable {
  readonly url: string;
  /** Runs once more, then lets the program exit. */
  end(): Promise<{ readonly answer: unknown; readonly code: unknown; readonly errors: string }>;
}

async function startProgram(): Promise<Program> {
  const path = fileURLToPath(new URL('fixtures/serving-program.ts', import.meta.url));
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(process.execPath, [path], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const closed = once(child, 'close');
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const url = line.trim();
  return {
    url,
    async end() {
      const answer = await fetch(`${url}/run`, { method: 'POST', body: bodyOf('small', 'last') }).then(
        ({ status }) => status,
        String,
      );
      child.stdin.end();
      const [code] = (await closed) as [unknown];
      return { answer, code, errors };
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

function bodyOf(appName: string, sessionId: string): string {
  const newMessage = { parts: [{ text: 'hi' }] };
  return JSON.stringify({ appName, userId: 'ann', sessionId, newMessage, streaming: true });
}

/** Starts a run with `/run_sse`, and resolves when either side has closed the connection. */
function readRun(url: string, body: string, act: (client: ClientRequest) => void): Promise<void> {
  const client = request(`${url}/run_sse`, { method: 'POST', agent: false });
  const closed = new Promise<void>((resolve) => client.once('close', resolve));
  client.on('error', () => undefined);
  act(client);
  client.end(body);
  return closed;
}

/** Reads this many chunks of a stream, then drops the connection; 0 drops it once the request is sent. */
function hangUpAfter(pieces: number): (client: ClientRequest) => void {
  return (client) => {
    let left = pieces;
    if (pieces === 0) client.once('finish', () => client.destroy());
    client.once('response', (answer) => {
      answer.on('error', () => undefined);
      answer.on('data', () => {
        if (--left <= 0) client.destroy();
      });
    });
  };
}

describe('a program that embeds the server', () => {
  test('survives clients that hang up at any point of a stream', async () => {
    using program = await startProgram();
    for (let round = 0; round < 5; round++) {
      const readers = Array.from({ length: 30 }, (_none, pieces) =>
        readRun(program.url, bodyOf('small', `${round}-${pieces}`), hangUpAfter(pieces)),
      );
      await Promise.all(readers);
    }
    expect(await program.end()).toEqual({ answer: 200, code: 0, errors: '' });
  });

  test('survives a client that stops reading, and closes its connection', async () => {
    using program = await startProgram();
    const [client, run] = await new Promise<[ClientRequest, string]>((resolve) => {
      void readRun(program.url, bodyOf('large', 's'), (request) =>
        request.once('response', ({ headers }) => {
          resolve([request, `${program.url}/apps/large/users/ann/sessions/s/runs/${String(headers[ID_HEADER])}`]);
        }),
      );
    });
    // The server allows one reader per run: a second one is refused while the first is connected.
    const statusOfNext = async () => {
      const response = await fetch(run);
      await response.body?.cancel();
      return response.status;
    };
    await expect.poll(statusOfNext).not.toBe(429);
    client.destroy();
    const { errors, ...end } = await program.end();
    expect(end).toEqual({ answer: 200, code: 0 });
    expect(errors).toMatch(/^(\[a stream was cut: the client read nothing .*\]\n)+$/);
  });
});
