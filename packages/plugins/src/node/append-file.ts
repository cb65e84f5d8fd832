// On Node; elsewhere web/append-file.ts takes its place: see `imports` in the manifest.
import { appendFile } from 'node:fs/promises';

/** Appends text to a file that only its owner may read. Creates the file if it does not exist. */
export function appendToFile(path: string, text: string): Promise<void> {
  return appendFile(path, text, { mode: 0o600 });
}
