import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** Unpacks the browser, and libraries that it needs and a small machine may lack, into the temporary folder of the process. */
const UNPACK = `
  import chromium, { inflate } from '@sparticuz/chromium';
  await chromium.executablePath();
  await inflate(process.argv[1]);
`;

/**
 * Returns a folder with the browser of the npm package. Several workers may start at once on a machine that does not
 * have the folder yet: each unpacks a folder of its own, which gets the name when it is whole.
 */
function browserFolder(): string {
  const packed = join(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')), '../bin');
  const folder = join(tmpdir(), `eventloom-chromium-${statSync(join(packed, 'chromium.br')).size}`);
  if (existsSync(folder)) return folder;
  const own = mkdtempSync(join(tmpdir(), 'eventloom-chromium-'));
  const args = ['--input-type=module', '-e', UNPACK, join(packed, 'al2023.tar.br')];
  execFileSync(process.execPath, args, { cwd: import.meta.dirname, env: { ...process.env, TMPDIR: own } });
  try {
    renameSync(own, folder);
  } catch (error) {
    rmSync(own, { recursive: true });
    // Another worker was first.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** Opens the browser of the npm package, which needs no system browser. Its microphone records a tone. */
export async function openBrowser(): Promise<Browser> {
  const folder = browserFolder();
  const hasLibraries = existsSync('/usr/lib/x86_64-linux-gnu/libnss3.so');
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    args: [
      '--headless',
      '--no-sandbox',
      // Containers have little shared memory.
      '--disable-dev-shm-usage',
      // With fewer processes and threads, pages take a fifth less processor time.
      '--in-process-gpu',
      // One process for all pages of a context, and none in reserve.
      '--renderer-process-limit=1',
      '--js-flags=--single-threaded',
      // Nothing comes from the network, such as the fonts of pages. A page whose requests a test intercepts would have no cache.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
      '--use-fake-ui-for-media-stream',
      '--use-fake-device-for-media-stream',
    ],
    timeout: 240_000,
    ...(hasLibraries ? {} : { env: { ...process.env, LD_LIBRARY_PATH: join(folder, 'al2023/lib') } }),
  });
}
