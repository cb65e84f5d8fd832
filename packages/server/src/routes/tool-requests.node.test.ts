import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Event, getFunctionCalls, getFunctionResponses } from '@eventloom/core';
import { createEncryptionKey } from '@eventloom/credentials';
import { SqliteCredentialService } from '@eventloom/credentials/sqlite';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { fixedPlatform, type ScriptedStep } from '@eventloom/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { AUTH, SECRET, servers, SESSION, setUp } from './fixtures/tool-server.ts';

const folders: string[] = [];

const payments = (...numbers: number[]): ScriptedStep => ({
  calls: numbers.map((n) => ({ id: `c${n}`, name: 'pay', args: { n } })),
});

const asked = (events: readonly Event[]): string[] =>
  events.flatMap(({ longRunningToolIds }) => longRunningToolIds ?? []);

const confirm = (id: string | undefined, confirmed: boolean) => ({
  functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed } },
});

const provide = (id: string | undefined, response: unknown) => ({
  functionResponse: { id, name: 'adk_request_credential', response },
});

const responses = (events: readonly Event[]): unknown[] =>
  events.flatMap(getFunctionResponses).map(({ response }) => response);

const lastText = (events: readonly Event[]): unknown => events.at(-1)?.content?.parts?.[0]?.text;

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(servers.splice(0).map((server) => server.shutDown()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
});

test('several confirmations are answered in any order: one confirmed, one rejected, one expired', async () => {
  const { post, paid, platform } = await setUp({ steps: [payments(1, 2, 3), 'Done.'] });
  const [one, two, three] = asked((await post([{ text: 'pay' }])).events);
  const third = await post([confirm(three, true)]);
  expect(responses(third.events)).toEqual([{ paid: 1 }]);
  const first = await post([confirm(one, false)]);
  expect(responses(first.events)).toEqual([{ error: 'This tool call is rejected.' }]);
  platform.advance(60_001);
  const second = await post([confirm(two, true)]);
  expect(responses(second.events)).toEqual([{ error: 'This tool call was not run: it was answered too late.' }]);
  expect(lastText(second.events)).toBe('Done.');
  expect(paid).toEqual([3]);
});

test('an answer without a request, and a second answer, are a 400 and write nothing', async () => {
  const { post, get, paid } = await setUp({ steps: [payments(1), 'Done.'] });
  const [one] = asked((await post([{ text: 'pay' }])).events);
  await post([confirm(one, true)]);
  const before = await get(SESSION);
  for (const id of [one, 'adk-nope']) {
    const answer = await post([confirm(id, true)], '/run');
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([400, { code: 'INVALID_MESSAGE' }]);
  }
  expect(await get(SESSION)).toBe(before);
  expect(paid).toEqual([1]);
});

test('two concurrent requests that confirm the same call run it once', async () => {
  const { post, paid } = await setUp({ steps: [payments(1), 'Done.'] });
  const [one] = asked((await post([{ text: 'pay' }])).events);
  const answers = await Promise.all([post([confirm(one, true)], '/run'), post([confirm(one, true)], '/run')]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
  expect(paid).toEqual([1]);
});

test('chunks of a streaming tool are frames and are not stored', async () => {
  const { post, get } = await setUp({ steps: [{ calls: [{ id: 'c1', name: 'watch' }] }, 'Done.'] });
  const { events } = await post([{ text: 'go' }]);
  const tools = events.filter((event) => getFunctionResponses(event).length > 0);
  expect(tools.map(({ partial, object }) => [partial, object])).toEqual([
    [true, 'tool.response'],
    [true, 'tool.response'],
    [undefined, 'tool.response'],
  ]);
  expect(responses(tools)).toEqual([{ output: 'one ' }, { output: 'two' }, { result: 'one two' }]);
  expect(await get(SESSION)).not.toContain('output');
});

test('the server does not store, send or log a secret', async () => {
  const written: string[] = [];
  const note = (...said: unknown[]): true => {
    written.push(said.map(String).join(' '));
    return true;
  };
  for (const method of ['debug', 'log', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, method).mockImplementation(note);
  vi.spyOn(process.stdout, 'write').mockImplementation(note);
  vi.spyOn(process.stderr, 'write').mockImplementation(note);
  const { post, get, said } = await setUp({ steps: [{ calls: [{ id: 'c1', name: 'read' }] }, 'Done.'] });
  const [id] = asked((await post([{ text: 'go' }])).events);

  // Invalid answers that contain the secret in every place.
  const credential = { authType: 'oauth2', oauth2: { accessToken: SECRET } };
  for (const parts of [
    [provide('adk-nope', credential)],
    [provide(id, SECRET)],
    [provide(id, [SECRET])],
    [provide(id, { response: SECRET })],
    [provide(id, { response: `["${SECRET}"]` })],
    [provide(id, credential), provide(id, credential)],
    [provide(id, credential), { text: SECRET }],
    [{ functionResponse: { id, name: 'pay', response: credential } }],
    [{ functionResponse: { id: [SECRET], response: credential } }],
    [{ functionResponse: SECRET }],
  ]) {
    for (const path of ['/run', '/run_sse']) expect((await post(parts, path)).status).toBe(400);
  }

  const given = provide(id, { ...AUTH, exchangedAuthCredential: credential });
  const more = { functionResponse: { ...given.functionResponse, parts: [{ text: SECRET }] }, partMetadata: { SECRET } };
  const { events } = await post([more]);
  expect(responses(events)).toEqual([{ length: SECRET.length }]);
  expect(lastText(events)).toBe('Done.');
  await get(SESSION);
  await get(`${SESSION}/runs/${events[0]?.invocationId}`);
  expect(said.join()).toContain('"provided":true');
  expect(said.join()).not.toContain(SECRET);
  expect(written.join()).not.toContain(SECRET);
});

test('paused calls and answers survive restarts on SQLite, and each call continues with its answer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tool-requests-'));
  folders.push(folder);
  const keys = [createEncryptionKey()];
  // The ids of events continue: repeated ids would be those of stored events.
  const platform = fixedPlatform();
  const open = async (...steps: ScriptedStep[]) => {
    const sessionService = new SqliteSessionService({ path: join(folder, 'sessions.db') });
    const credentialService = new SqliteCredentialService({ path: join(folder, 'credentials.db'), keys });
    const setup = await setUp({ steps, sessionService, credentialService, platform });
    const close = async (): Promise<void> => {
      await setup.stop();
      sessionService.close();
      credentialService.close();
    };
    return { ...setup, close };
  };

  const before = await open({
    calls: [
      { id: 'c1', name: 'pay', args: { n: 1 } },
      { id: 'c2', name: 'read' },
    ],
  });
  const { events } = await before.post([{ text: 'go' }]);
  const whole = events.filter(({ partial }) => partial !== true);
  const [credential, confirmation] = asked(whole);
  expect(whole.flatMap(getFunctionCalls).map(({ name }) => name)).toEqual([
    'pay',
    'read',
    'adk_request_credential',
    'adk_request_confirmation',
  ]);
  await before.close();

  const between = await open();
  expect(responses((await between.post([confirm(confirmation, true)])).events)).toEqual([{ paid: 1 }]);
  await between.close();

  const after = await open('Done.');
  const last = await after.post([provide(credential, { authType: 'oauth2', oauth2: { accessToken: SECRET } })]);
  expect(responses(last.events)).toEqual([{ length: SECRET.length }]);
  expect(lastText(last.events)).toBe('Done.');
  expect((await after.post([confirm(confirmation, true)])).status).toBe(400);
  expect([before.paid, between.paid, after.paid]).toEqual([[], [1], []]);
  expect(await after.get(SESSION)).not.toContain(SECRET);
  await after.close();

  const later = await open({ calls: [{ id: 'c3', name: 'read' }] }, 'Read again.');
  const again = await later.post([{ text: 'read again' }]);
  expect([asked(again.events), responses(again.events)]).toEqual([[], [{ length: SECRET.length }]]);
  await later.close();
});
