import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The environment of wrangler: it sends no metrics, asks no questions and looks for no newer version. */
export const wranglerEnvironment = {
  ...process.env,
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  CI: 'true',
};

/**
 * Runs `$0` with its arguments. Kills the whole process group when standard input ends, because this process has ended, and deletes the
 * temporary files.
 */
const KEEPER =
  'exec 4<&0; "$0" "$@" </dev/null & program=$!; (read -r _ <&4; rm -rf "$TMPDIR"; kill -9 0) & wait $program';

/**
 * Starts `wrangler`, or the runtime alone, in its own process group: the runtime is a child of a child, and must be
 * killed with it. The group ends with this process, even if that is killed. Its temporary files are in a folder of
 * their own, because a killed wrangler leaves them behind. The folder is deleted when the program has ended, before
 * later listeners of `exit` are called.
 */
export function spawnWrangler(command: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-wrangler-'));
  const child = spawn('/bin/sh', ['-c', KEEPER, ...command], {
    stdio: 'pipe',
    ...options,
    env: { ...wranglerEnvironment, TMPDIR: folder },
    detached: true,
  });
  // Killed processes of the group may still end.
  child.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return child;
}
