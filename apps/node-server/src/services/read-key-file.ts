import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigurationError, encodeBase64, toError } from '@eventloom/core';
import { createEncryptionKey, parseEncryptionKey } from '@eventloom/credentials';

/**
 * The key in a file, which is made for its owner only where there is none. Of several processes that make it at once all get the same.
 * @throws ConfigurationError for a file that others may read, that cannot be read or made, or that holds no key
 */
export function readKeyFile(file: string): Uint8Array {
  try {
    if (!statSync(file, { throwIfNoEntry: false })) makeKeyFile(file);
    // Windows has no such bits.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
      throw new ConfigurationError(`others may read it; \`chmod 600\` it, and change the key if somebody could have`);
    return parseEncryptionKey(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new ConfigurationError(`cannot use ${file} as the key of credentials: ${toError(cause).message}`, { cause });
  }
}

/** The file appears with all that is in it: who finds it can read it. */
function makeKeyFile(file: string): void {
  const draft = `${file}.${process.pid}`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(draft, `${encodeBase64(createEncryptionKey())}\n`, { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    // Another process was first, and its key is the one.
    if (!statSync(file, { throwIfNoEntry: false })) throw error;
  } finally {
    rmSync(draft);
  }
}
