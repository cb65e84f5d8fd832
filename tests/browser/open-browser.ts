import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import sparticuz from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';

/** Returns the folder of libraries that the browser needs and a small machine may lack: the package contains them. */
function librariesOf(): string | undefined {
  if (existsSync('/usr/lib/x86_64-linux-gnu/libnss3.so')) return undefined;
  const folder = join(tmpdir(), 'eventloom-browser-libraries');
  if (!existsSync(folder)) {
    const bin = join(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')), '../../bin/al2023.tar.br');
    mkdirSync(folder, { recursive: true });
    const tar = join(folder, 'libraries.tar');
    writeFileSync(tar, brotliDecompressSync(readFileSync(bin)));
    execFileSync('tar', ['-xf', tar, '-C', folder]);
  }
  return join(folder, 'lib');
}

/** Opens the browser of the npm package, which needs no system browser. Its microphone records a tone. */
export async function openBrowser(): Promise<Browser> {
  const libraries = librariesOf();
  return chromium.launch({
    executablePath: await sparticuz.executablePath(),
    args: ['--headless', '--no-sandbox', '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream'],
    ...(libraries === undefined ? {} : { env: { ...process.env, LD_LIBRARY_PATH: libraries } }),
  });
}
