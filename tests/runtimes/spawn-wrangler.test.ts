import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { spawnWrangler } from './spawn-wrangler.ts';

const PROGRAM = 'mkdir "$TMPDIR/miniflare"; echo "$TMPDIR"; sleep 1000 & wait';

test.each(['SIGKILL', 'SIGTERM', 'the end of the process that started it'])(
  'the processes and the temporary files of a program end with %s',
  async (end) => {
    const child = spawnWrangler(['/bin/sh', '-c', PROGRAM]);
    const output = child.stdout as Readable;
    const [line] = (await once(output, 'data')) as [Buffer];
    const folder = line.toString().trim();
    expect(existsSync(`${folder}/miniflare`)).toBe(true);
    // The output is open as long as a process of the group lives.
    const ended = Promise.all([once(child, 'exit'), once(output, 'close')]);
    if (end.startsWith('SIG')) process.kill(-Number(child.pid), end);
    else child.stdin?.end();
    await ended;
    expect(existsSync(folder)).toBe(false);
  },
);
