// On Node; elsewhere web/append-file.ts takes its place: see `imports` in the manifest.
import { appendFile } from 'node:fs/promises';

/** Appends text to a file, which only its owner may read. Creates the file if there is none. */
export function appendToFile(path: string, text: string): Promise<void> {
  return appendFile(path, text, { mode: 0o600 });
}
