// For Node. Other runtimes load web/append-file.ts instead: see `imports` in package.json.
import { appendFile } from 'node:fs/promises';

/** Appends text to a file that only its owner may read. Creates the file if it does not exist. */
export function appendToFile(path: string, text: string): Promise<void> {
  return appendFile(path, text, { mode: 0o600 });
}
