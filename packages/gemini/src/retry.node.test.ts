// Starts a process.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('a process that only waits for a retry stays alive', async () => {
  const program = `
    import { systemPlatform } from '@eventloom/core';
    import { wait } from '@eventloom/core/internal';
    await wait(20, systemPlatform, undefined);
    console.log('waited');
  `;
  const cwd = new URL('.', import.meta.url);
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { cwd });
  expect(stdout).toBe('waited\n');
});
