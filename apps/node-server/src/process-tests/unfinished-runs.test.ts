import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Event, SessionJson } from '@eventloom/core';
import { expect, test } from 'vitest';
import { type StartedServer, startServer, temporaryFolder } from './program.ts';

const SESSION = '/apps/steps/users/ann/sessions/s';

/** An agent that takes steps until a file exists. */
const STEPS = `
  import { existsSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  import { BaseLlm, FunctionTool, LlmAgent } from 'eventloom';

  class Steps extends BaseLlm {
    constructor() {
      super({ model: 'steps' });
    }
    async *generateContentAsync({ contents }) {
      const id = 'c' + contents.length;
      const parts = existsSync('enough') ? [{ text: 'done' }] : [{ functionCall: { id, name: 'step', args: {} } }];
      yield { content: { role: 'model', parts }, finishReason: 'STOP' };
    }
  }
  const step = new FunctionTool({ name: 'step', description: '', execute: () => setTimeout(200) });
  export const rootAgent = new LlmAgent({ name: 'steps', model: new Steps(), tools: [step] });
`;

function makeAgents(folder: string): void {
  mkdirSync(join(folder, 'agents/steps'), { recursive: true });
  writeFileSync(join(folder, 'agents/steps/agent.js'), STEPS);
}

async function eventsOf(url: string): Promise<readonly Event[]> {
  return ((await (await fetch(`${url}${SESSION}`)).json()) as SessionJson).events;
}

/** Begins a long run. */
async function beginRun({ url }: StartedServer): Promise<Response> {
  await fetch(`${url}${SESSION}`, { method: 'POST' });
  const newMessage = { parts: [{ text: 'go' }] };
  const body = JSON.stringify({ appName: 'steps', userId: 'ann', sessionId: 's', newMessage, streaming: true });
  return fetch(`${url}/run_sse`, { method: 'POST', body });
}

/** Stops the server during a run. */
async function endInMidRun(args: readonly string[], folder: string): Promise<void> {
  await using server = await startServer([...args, '--drain', '1s'], { folder });
  const run = await beginRun(server);
  const ended = server.end('SIGTERM');
  expect(await run.text()).toContain('"code":"RUN_GOES_ON"');
  const stderr = 'eventloom: finishing 1 run, for 1 s at most; another signal ends at once\n';
  expect(await ended).toMatchObject({ code: 0, stderr });
}

test('a run in flight at the end of the process continues when it is started again', async () => {
  using folder = temporaryFolder();
  makeAgents(folder.path);
  const args = ['--agents', 'agents', '--resumable'];
  await endInMidRun(args, folder.path);
  writeFileSync(join(folder.path, 'enough'), '');
  await using server = await startServer(args, { folder: folder.path });
  await expect.poll(async () => (await eventsOf(server.url)).at(-1)?.object).toBe('runner.end');
  expect(server.warnings).toBe('eventloom: steps: 1 unfinished run of an earlier server is resumed\n');
  const events = await eventsOf(server.url);
  expect(events.flatMap(({ content }) => content?.parts?.[0]?.text ?? [])).toEqual(['go', 'done']);
  expect(new Set(events.map(({ invocationId }) => invocationId)).size).toBe(1);
});

test('a second Ctrl-C exits immediately', async () => {
  using folder = temporaryFolder();
  makeAgents(folder.path);
  await using server = await startServer(['--agents', 'agents', '--drain', '10m'], { folder: folder.path });
  const cut = expect((await beginRun(server)).text()).rejects.toThrow();
  void server.end('SIGINT');
  await expect.poll(() => server.warnings).toContain('Ctrl-C again ends at once');
  expect((await server.end('SIGINT')).code).toBeNull();
  await cut;
});

test('a run in flight is closed with --unfinished-runs close', async () => {
  using folder = temporaryFolder();
  makeAgents(folder.path);
  const args = ['--agents', 'agents', '--resumable'];
  await endInMidRun(args, folder.path);
  await using server = await startServer([...args, '--unfinished-runs', 'close'], { folder: folder.path });
  await expect.poll(async () => (await eventsOf(server.url)).at(-1)?.object).toBe('runner.end');
  expect((await eventsOf(server.url)).flatMap(({ errorCode }) => errorCode ?? [])).toEqual(['RUN_ABANDONED']);
});
