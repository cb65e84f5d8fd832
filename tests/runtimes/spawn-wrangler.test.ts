import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { spawnWrangler } from './spawn-wrangler.ts';

test.each(['SIGKILL', 'SIGTERM'])('the temporary files of a program that got %s are deleted', async (signal) => {
  const program = 'mkdir "$TMPDIR/miniflare"; echo "$TMPDIR"; sleep 1000 & wait';
  const child = spawnWrangler('/bin/sh', ['-c', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout as Readable, 'data')) as [Buffer];
  const folder = line.toString().trim();
  expect(existsSync(`${folder}/miniflare`)).toBe(true);
  const exit = once(child, 'exit');
  process.kill(-Number(child.pid), signal);
  await exit;
  expect(existsSync(folder)).toBe(false);
});
