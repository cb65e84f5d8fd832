import { systemPlatform } from '@eventloom/core';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { Gate } from '@eventloom/testing';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { callServer } from './fixtures/call-server.ts';
import { speakWith, voiceRunner } from './fixtures/voice-runner.ts';
import { liveEndpoint } from './live-endpoint.ts';

const SESSION = '/apps/voice/users/ann/sessions/s';

test('a live run is reported as cancelled, to its client and to others, only when its end is stored', async () => {
  const database = new DatabaseSync(':memory:');
  const setWritable = (isWritable: boolean): void => database.exec(`PRAGMA query_only = ${isWritable ? 'off' : 'on'}`);
  const platform = { ...systemPlatform, background: (work: Promise<unknown>) => void work.catch(() => undefined) };
  const sessionService = new SqliteSessionService({ database, platform });
  await sessionService.createSession({ appName: 'voice', userId: 'ann', sessionId: 's' });
  speakWith([{ heard: 'content' }, 'Hello', new Gate()]);
  const app = createServer({
    runners: [voiceRunner({ sessionService, platform, leaseTtlMs: 200 })],
    live: liveEndpoint(),
    platform,
    onError: () => undefined,
    limits: { unfinishedRunsEveryMs: 0, respondAfterMs: 60_000 },
  });
  const server = await serve(app, { port: 0, drainMs: 100 });
  const call = await callServer(server, 'app_name=voice&user_id=ann&session_id=s&modalities=TEXT');
  call.say('Hi');
  const [{ invocationId } = { invocationId: '' }] = await call.until(({ content }) => content);
  const path = `${server.url}${SESSION}/runs/${invocationId}`;
  const cancel = async (): Promise<number> => (await fetch(path, { method: 'DELETE' })).status;
  const state = async (): Promise<unknown> => (await fetch(path, { headers: { accept: 'application/json' } })).json();
  setWritable(false);
  expect(await cancel()).toBe(503);
  expect(await state()).toEqual({ invocationId, state: 'running' });
  expect(await call.end()).toMatchObject({ errorCode: 'STORAGE_UNAVAILABLE', code: 1013 });
  setWritable(true);
  await expect.poll(cancel).toBe(200);
  expect(await state()).toMatchObject({ state: 'interrupted' });
  await server.shutDown();
});
