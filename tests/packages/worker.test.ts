import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorkerProject, runIn, startDevServer } from './worker-project.ts';

const UPLOAD = /Total Upload: [\d.]+ KiB \/ gzip: ([\d.]+) KiB/;

describe('an empty Worker project that installs the packages from tarballs', () => {
  let project = '';
  beforeAll(async () => {
    project = await createWorkerProject();
  });
  afterAll(() => rmSync(project, { recursive: true }));

  test('type-checks the Worker of the example', async () => {
    expect(await runIn(project, 'tsc', ['-p', project])).toBe('');
  });

  test('can be deployed, and stays within what it was when this was written', async () => {
    const output = await runIn(project, 'wrangler', ['deploy', '--dry-run', '--minify']);
    expect(Number(UPLOAD.exec(output)?.[1])).toBeLessThanOrEqual(174);
  });

  test('answers under wrangler dev, and still knows what was said after it was killed', async () => {
    const post = (origin: string, path: string, body: object): Promise<Response> =>
      fetch(`${origin}${path}`, { method: 'POST', body: JSON.stringify(body) });
    const session = '/apps/app/users/ann/sessions/s';
    const first = await startDevServer(project, 'src/keyless-worker.ts');
    try {
      expect((await post(first.origin, session, {})).status).toBe(200);
      const newMessage = { role: 'user', parts: [{ text: 'hi' }] };
      const message = { appName: 'app', userId: 'ann', sessionId: 's', newMessage };
      const events = (await (await post(first.origin, '/run', message)).json()) as object[];
      expect(events).toMatchObject([{ author: 'echo', content: { parts: [{ text: 'hello' }] } }]);
    } finally {
      await first.stop();
    }
    const second = await startDevServer(project, 'src/keyless-worker.ts');
    try {
      const known = (await (await fetch(`${second.origin}${session}`)).json()) as { events: object[] };
      expect(known.events).toMatchObject([{ author: 'user' }, { author: 'echo' }]);
    } finally {
      await second.stop();
    }
  });
});
