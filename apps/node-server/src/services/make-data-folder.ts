import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toError } from '@eventloom/core';
import { UsageError } from '../errors.ts';

/** Makes the folder of all that is kept, and keeps it out of version control. @throws UsageError when it cannot be made */
export function makeDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, '.gitignore'), '*\n');
  } catch (cause) {
    throw new UsageError(`--data ${folder}: cannot be used as a folder: ${toError(cause).message}`, { cause });
  }
}
