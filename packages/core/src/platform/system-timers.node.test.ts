import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** Runs a program that waits for a timer of the system's platform, and returns its exit code and its output. */
function waitFor(options: string): { status: number | null; printed: string } {
  const platform = JSON.stringify(new URL('platform.ts', import.meta.url).href);
  const program = `
    const { systemPlatform } = await import(${platform});
    await new Promise((resolve) => systemPlatform.schedule(30, resolve, ${options}));
    console.log('called back');`;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  return { status, printed: stdout.trim() };
}

test('a timer that is not idle keeps the process alive until it calls back', () => {
  expect(waitFor('{}')).toEqual({ status: 0, printed: 'called back' });
});

test('an idle timer does not keep the process alive', () => {
  expect(waitFor('{ idle: true }')).toMatchObject({ printed: '' });
});
