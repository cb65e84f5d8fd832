import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Event } from '@eventloom/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sendRaw } from './send-raw.ts';
import { startWatcher, type Watcher } from './watcher.ts';
import { type DevServer, startDevServer } from '../runtimes/dev-server.ts';
import { createWorkerProject, runIn } from './worker-project.ts';

const UPLOAD = /Total Upload: [\d.]+ KiB \/ gzip: ([\d.]+) KiB/;

describe('an empty Worker project that installs the packages from tarballs', () => {
  let project = '';
  beforeAll(async () => {
    project = await createWorkerProject();
  });
  afterAll(() => rmSync(project, { recursive: true }));

  test('type-checks the Workers', async () => {
    expect(await runIn(project, 'tsc', ['-p', project])).toBe('');
  });

  test.each([
    ['the runtime behind the server', 168, 'server.jsonc'],
    ['the Worker of the example, with Gemini', 236, 'wrangler.jsonc'],
    ['the whole Worker, with Gemini, JWTs and Studio', 268, 'edge-worker/wrangler.jsonc'],
    ['the same as it is in the workspace', 268, join(import.meta.dirname, '../../apps/edge-worker/wrangler.jsonc')],
  ])('%s can be deployed, and takes at most %i kB (gzip)', async (_name, most, config) => {
    const output = await runIn(project, 'wrangler', ['deploy', '--dry-run', '--config', config]);
    const kibibytes = Number(UPLOAD.exec(output)?.[1]);
    expect(kibibytes * 1.024).toBeLessThanOrEqual(most);
  });

  describe('wrangler dev', () => {
    let watcher: Watcher;
    let server: DevServer;
    let origin = '';
    const start = async (): Promise<void> => {
      server = await startDevServer(project, { entry: 'src/keyless-worker.ts', vars: { WATCHER: watcher.origin } });
      ({ origin } = server);
    };
    beforeAll(async () => {
      watcher = await startWatcher();
      await start();
    });
    afterAll(async () => {
      await server.stop();
      watcher.stop();
    });

    test('serves a live run, and stores its transcriptions', async () => {
      const session = '/apps/voice/users/ann/sessions/s';
      expect((await post(origin, session, {})).status).toBe(200);
      const query = 'app_name=voice&user_id=ann&session_id=s&audio=binary&ping=text';
      const socket = new WebSocket(`${origin.replace('http', 'ws')}/run_live?${query}`);
      socket.binaryType = 'arraybuffer';
      const frames: (string | ArrayBuffer)[] = [];
      socket.onopen = () => socket.send(new Uint8Array([1, 2, 3, 4]));
      socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        // The first ping says that the call has its session.
        if (data === '{"ping":0}') return;
        frames.push(data);
        if (typeof data === 'string' && data.includes('"turnComplete":true')) socket.send('{"close": true}');
      };
      const { code, reason } = await new Promise<CloseEvent>((resolve) => (socket.onclose = resolve));
      expect([code, reason]).toEqual([1000, 'the live run has ended']);
      expect(frames[0]).toEqual(new Uint8Array([1, 2, 3, 4]).buffer);
      expect(frames[1]).toContain('"inlineData":{"mimeType":"audio/pcm;rate=16000"}');
      const { events } = (await (await fetch(`${origin}${session}`)).json()) as { events: Event[] };
      expect(events.map(({ outputTranscription }) => outputTranscription?.text)).toContain('squawk');
      const missing = new WebSocket(`${origin.replace('http', 'ws')}/run_live?${query.replace('=s&', '=none&')}`);
      const refused = await new Promise<CloseEvent>((resolve) => (missing.onclose = resolve));
      expect([refused.code, refused.reason.split(':', 1)]).toEqual([1002, ['SESSION_NOT_FOUND']]);
    });

    test('answers raw sockets like a server on node', async () => {
      const sessions = '/apps/app/users/raw/sessions';
      const ask = async (line: string, host = 'localhost', body = '') => {
        const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`;
        const head = `${line} HTTP/1.1\r\nHost: ${host}\r\n${length}Connection: close\r\n\r\n`;
        const answer = await sendRaw(origin, head + body);
        return [answer.status, /"code":"(\w+)"/.exec(answer.body)?.[1]];
      };
      expect(await ask('GET /health', 'agents.example')).toEqual([200, undefined]);
      expect(await ask('GET /list-apps', 'agents.example')).toEqual([403, 'FORBIDDEN']);
      expect(await ask(`POST ${sessions}/s`, 'localhost', '{}')).toEqual([200, undefined]);
      expect(await ask(`GET ${sessions}/s/`)).toEqual([404, 'ROUTE_NOT_FOUND']);
      expect(await ask('POST /run/', 'localhost', '{}')).toEqual([404, 'ROUTE_NOT_FOUND']);
      const large = 'x'.repeat(21 * 1024 * 1024);
      expect(await ask(`POST ${sessions}/large`, 'localhost', large)).toEqual([413, 'BODY_TOO_LARGE']);
      expect(await ask('POST /run', 'localhost', large)).toEqual([413, 'BODY_TOO_LARGE']);
      expect(await ask('GET /apps/%ff/users/raw/sessions')).toEqual([400, 'INVALID_REQUEST']);
      // The only difference: the runtime has resolved dot segments before the Worker gets the request.
      expect(await ask(`GET /x/%2e%2e${sessions}/s`)).toEqual([200, undefined]);
    });

    // The tests share the kills, because each start takes seconds.
    describe('after it was killed during runs', () => {
      const names = ['tool', 'commits', 'stream'];
      const session = (name: string): string => `/apps/shop/users/ann/sessions/${name}`;
      const echo = '/apps/app/users/ann/sessions/s';
      const say = (text: string): object => {
        const newMessage = { role: 'user', parts: [{ text }] };
        return { appName: 'app', userId: 'ann', sessionId: 's', newMessage };
      };
      let echoRun = '';
      let continued: Promise<void>;
      let atPoison: Promise<void>;
      beforeAll(async () => {
        watcher.held = new Set(['/tool/work', '/commits/answer', '/stream/stream', '/poison/answer']);
        const atHalt = watcher.seen([...watcher.held]);
        for (const name of [...names, 'poison']) {
          await (await post(origin, session(name), {})).text();
          const newMessage = { role: 'user', parts: [{ text: name }] };
          const run = { appName: 'shop', userId: 'ann', sessionId: name, newMessage, streaming: true };
          void post(origin, '/run_sse', run)
            .then((response) => response.text())
            .catch(() => undefined);
        }
        expect((await post(origin, echo, {})).status).toBe(200);
        const events = (await (await post(origin, '/run', say('hi'))).json()) as object[];
        expect(events).toMatchObject([{ author: 'echo', content: { parts: [{ text: 'hello' }] } }]);
        const waiting = await post(origin, '/run_sse', say('wait'));
        echoRun = `${echo}/runs/${waiting.headers.get('eventloom-invocation-id')}`;
        await atHalt;
        await server.stop();
        watcher.held = new Set(['/poison/answer']);
        continued = watcher.seen(names.map((name) => `/${name}/stream`));
        atPoison = watcher.seen(['/poison/answer']);
        await start();
      });

      test('has the message of a run that cannot be resumed, and accepts the next run', async () => {
        const known = (await (await fetch(`${origin}${echo}`)).json()) as { events: object[] };
        const abandoned = { errorCode: 'RUN_ABANDONED' };
        expect(known.events).toMatchObject([{ author: 'user' }, { author: 'echo' }, { author: 'user' }, abandoned]);
        expect(await (await fetch(`${origin}${echoRun}`)).text()).toContain('"errorCode":"RUN_ABANDONED"');
        expect(await (await post(origin, '/run', say('hi'))).json()).toMatchObject([{ author: 'echo' }]);
      });

      test('continues resumable runs: in a tool, between commits, in a stream', async () => {
        await continued;
        for (const name of names) {
          const events = await endedRun(`${origin}${session(name)}`);
          const parts = events.flatMap(({ content }) => content?.parts ?? []);
          expect(parts.flatMap(({ text }) => text ?? [])).toEqual([name, 'so it is done']);
          const responses = parts.flatMap(({ functionResponse }) => functionResponse?.response ?? []);
          expect(responses).toEqual([
            name === 'tool' ? { error: 'interrupted', message: expect.any(String) } : { worked: true },
          ]);
          expect(watcher.asked.filter((path) => path === `/${name}/work`)).toHaveLength(1);
        }
      });

      test('gives up a run in which it is killed again and again, with an error event', async () => {
        await atPoison;
        await server.stop();
        const atHalt = watcher.seen(['/poison/answer']);
        await start();
        await atHalt;
        await server.stop();
        await start();
        const events = await endedRun(`${origin}${session('poison')}`);
        expect(events.at(-2)).toMatchObject({
          errorCode: 'RUN_ABANDONED',
          errorMessage: expect.stringContaining('after attempt 3'),
        });
        const answers = ['/poison/answer', '/poison/answer', '/poison/answer'];
        expect(watcher.asked.filter((path) => path.startsWith('/poison/'))).toEqual(['/poison/work', ...answers]);
      });
    });
  });
});

function post(origin: string, path: string, body: object): Promise<Response> {
  return fetch(`${origin}${path}`, { method: 'POST', body: JSON.stringify(body) });
}

/** Returns the events of a session whose run has ended. */
async function endedRun(url: string): Promise<readonly Event[]> {
  let events: readonly Event[] = [];
  const newest = async () => {
    ({ events } = (await (await fetch(url)).json()) as { readonly events: Event[] });
    return events.at(-1)?.object;
  };
  await expect.poll(newest).toBe('runner.end');
  return events;
}
