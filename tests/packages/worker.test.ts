import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Event } from '@eventloom/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sendRaw } from './send-raw.ts';
import { startWatcher } from './watcher.ts';
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
    ['the runtime behind the server', 154, 'server.jsonc'],
    ['the Worker of the example, with Gemini', 222, 'wrangler.jsonc'],
    ['the whole Worker, with Gemini, JWTs and Studio', 251, 'edge-worker/wrangler.jsonc'],
    ['the same as it is in the workspace', 251, join(import.meta.dirname, '../../apps/edge-worker/wrangler.jsonc')],
  ])('%s can be deployed, and takes at most %i kB (gzip)', async (_name, most, config) => {
    const output = await runIn(project, 'wrangler', ['deploy', '--dry-run', '--config', config]);
    const kibibytes = Number(UPLOAD.exec(output)?.[1]);
    expect(kibibytes * 1.024).toBeLessThanOrEqual(most);
  });

  test('answers under wrangler dev; after a kill during a run it has the message and accepts the next run', async () => {
    const session = '/apps/app/users/ann/sessions/s';
    const say = (text: string): object => {
      const newMessage = { role: 'user', parts: [{ text }] };
      return { appName: 'app', userId: 'ann', sessionId: 's', newMessage };
    };
    const first = await startDevServer(project, { entry: 'src/keyless-worker.ts' });
    let run = '';
    try {
      expect((await post(first.origin, session, {})).status).toBe(200);
      const events = (await (await post(first.origin, '/run', say('hi'))).json()) as object[];
      expect(events).toMatchObject([{ author: 'echo', content: { parts: [{ text: 'hello' }] } }]);
      const waiting = await post(first.origin, '/run_sse', say('wait'));
      run = `${session}/runs/${waiting.headers.get('eventloom-invocation-id')}`;
    } finally {
      await first.stop();
    }
    const second = await startDevServer(project, { entry: 'src/keyless-worker.ts' });
    try {
      const known = (await (await fetch(`${second.origin}${session}`)).json()) as { events: object[] };
      const abandoned = { errorCode: 'RUN_ABANDONED' };
      expect(known.events).toMatchObject([{ author: 'user' }, { author: 'echo' }, { author: 'user' }, abandoned]);
      expect(await (await fetch(`${second.origin}${run}`)).text()).toContain('"errorCode":"RUN_ABANDONED"');
      expect(await (await post(second.origin, '/run', say('hi'))).json()).toMatchObject([{ author: 'echo' }]);
    } finally {
      await second.stop();
    }
  });

  describe('wrangler dev', () => {
    let server: DevServer;
    let origin = '';
    beforeAll(async () => {
      server = await startDevServer(project, { entry: 'src/keyless-worker.ts' });
      origin = server.origin;
    });
    afterAll(() => server.stop());

    test('serves a live run, and stores its transcriptions', async () => {
      const session = '/apps/voice/users/ann/sessions/s';
      expect((await post(origin, session, {})).status).toBe(200);
      const query = 'app_name=voice&user_id=ann&session_id=s&audio=binary&ping=text';
      const socket = new WebSocket(`${origin.replace('http', 'ws')}/run_live?${query}`);
      socket.binaryType = 'arraybuffer';
      const frames: (string | ArrayBuffer)[] = [];
      socket.onopen = () => socket.send(new Uint8Array([1, 2, 3, 4]));
      socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
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
  });

  test('continues runs in which wrangler dev was killed: in a tool, between commits, in a stream', async () => {
    const watcher = await startWatcher();
    const names = ['tool', 'commits', 'stream'];
    const session = (name: string): string => `/apps/shop/users/ann/sessions/${name}`;
    const vars = { WATCHER: watcher.origin };
    const entry = 'src/keyless-worker.ts';
    watcher.held = new Set(['/tool/work', '/commits/answer', '/stream/stream']);
    const first = await startDevServer(project, { entry, vars });
    try {
      const atHalt = watcher.seen([...watcher.held]);
      for (const name of names) {
        await (await post(first.origin, session(name), {})).text();
        const newMessage = { role: 'user', parts: [{ text: name }] };
        const run = { appName: 'shop', userId: 'ann', sessionId: name, newMessage, streaming: true };
        void post(first.origin, '/run_sse', run)
          .then(
            (response) => response.text(),
            () => undefined,
          )
          .catch(() => undefined);
      }
      await atHalt;
    } finally {
      await first.stop();
    }
    watcher.held = new Set();
    const continued = watcher.seen(names.map((name) => `/${name}/stream`));
    const second = await startDevServer(project, { entry, vars });
    try {
      await continued;
      for (const name of names) {
        const events = await endedRun(`${second.origin}${session(name)}`);
        const parts = events.flatMap(({ content }) => content?.parts ?? []);
        expect(parts.flatMap(({ text }) => text ?? [])).toEqual([name, 'so it is done']);
        const responses = parts.flatMap(({ functionResponse }) => functionResponse?.response ?? []);
        expect(responses).toEqual([
          name === 'tool' ? { error: 'interrupted', message: expect.any(String) } : { worked: true },
        ]);
        expect(watcher.asked.filter((path) => path === `/${name}/work`)).toHaveLength(1);
      }
    } finally {
      await second.stop();
      watcher.stop();
    }
  });

  test('gives up a run in which wrangler dev is killed again and again, with an error event', async () => {
    const watcher = await startWatcher();
    const vars = { WATCHER: watcher.origin };
    const session = '/apps/shop/users/bob/sessions/poison';
    watcher.held = new Set(['/poison/answer']);
    try {
      for (const attempt of [1, 2, 3]) {
        const atHalt = watcher.seen([...watcher.held]);
        const server = await startDevServer(project, { entry: 'src/keyless-worker.ts', vars });
        try {
          if (attempt === 1) {
            await (await post(server.origin, session, {})).text();
            const newMessage = { role: 'user', parts: [{ text: 'poison' }] };
            const run = { appName: 'shop', userId: 'bob', sessionId: 'poison', newMessage };
            void post(server.origin, '/run_sse', run)
              .then((response) => response.text())
              .catch(() => undefined);
          }
          await atHalt;
        } finally {
          await server.stop();
        }
      }
      const last = await startDevServer(project, { entry: 'src/keyless-worker.ts', vars });
      try {
        const events = await endedRun(`${last.origin}${session}`);
        expect(events.at(-2)).toMatchObject({
          errorCode: 'RUN_ABANDONED',
          errorMessage: expect.stringContaining('after attempt 3'),
        });
        expect(watcher.asked).toEqual(['/poison/work', '/poison/answer', '/poison/answer', '/poison/answer']);
      } finally {
        await last.stop();
      }
    } finally {
      watcher.stop();
    }
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
