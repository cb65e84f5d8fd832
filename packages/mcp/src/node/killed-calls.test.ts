import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getFunctionResponses } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { createCallingRunner, KEY } from '../fixtures/calling-runner.ts';

const CALLER = fileURLToPath(import.meta.resolve('../fixtures/calling-process.ts'));
const inputSchema = { type: 'object' };
const TOOLS = [
  { name: 'look', inputSchema, annotations: { readOnlyHint: true } },
  { name: 'add', inputSchema },
];

/** Serves both tools. Until `release` is called, calls get no answer. */
async function serveHanging() {
  const calls: string[] = [];
  const both = Promise.withResolvers<void>();
  let isReleased = false;
  const resultOf = (method: unknown, params: unknown): object | undefined => {
    if (method === 'initialize')
      return {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'hanging', version: '1' },
      };
    if (method === 'tools/list') return { tools: TOOLS };
    if (method !== 'tools/call' || !isRecord(params)) return undefined;
    calls.push(String(params['name']));
    if (calls.length === 2) both.resolve();
    return { content: [{ type: 'text', text: 'looked' }] };
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    if (request.method !== 'POST') return response.writeHead(405).end();
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += String(piece);
    const message: unknown = JSON.parse(body);
    const { id, method, params } = isRecord(message) ? message : {};
    if (id === undefined) return response.writeHead(202).end();
    const result = resultOf(method, params);
    if (method === 'tools/call' && !isReleased) return undefined;
    const outcome = result ? { result } : { error: { code: -32_601, message: 'unknown' } };
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : expect.unreachable();
  return { calls, both: both.promise, release: () => (isReleased = true), url: `http://127.0.0.1:${port}/mcp` };
}

test('a run that is killed during two calls repeats only the call that only reads', async () => {
  const { calls, both, release, url } = await serveHanging();
  const folder = await mkdtemp(join(tmpdir(), 'mcp-killed-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'sessions.db');
  const caller = spawn(process.execPath, [CALLER, path, url], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(caller, 'exit');
  await Promise.race([both, ended]);
  caller.kill('SIGKILL');
  expect(await ended).toEqual([null, 'SIGKILL']);
  expect(calls.toSorted()).toEqual(['add', 'look']);

  release();
  const sessionService = new SqliteSessionService({ path });
  onTestFinished(() => sessionService.close());
  const session = await sessionService.getSession({ appName: 'app', ...KEY });
  const invocationId = session?.events[0]?.invocationId ?? expect.unreachable();
  const runner = createCallingRunner(sessionService, url);
  // The lease of the killed process has not expired.
  const events = await runner.run({ ...KEY, invocationId, runConfig: { onBusy: 'interrupt' } });
  await runner.close();
  expect(calls.toSorted()).toEqual(['add', 'look', 'look']);
  const responses = Object.fromEntries(
    events.flatMap(getFunctionResponses).map(({ name = '', response }) => [name, response]),
  );
  expect(responses).toEqual({ look: { result: 'looked' }, add: expect.objectContaining({ error: 'interrupted' }) });
});
