import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { credentialServiceConformance } from '../conformance/index.ts';
import { createEncryptionKey } from '../credential-cipher.ts';
import { SqliteCredentialService } from './sqlite-credential-service.ts';

const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('SqliteCredentialService keeps the contract', () => {
  let files = 0;
  const cases = credentialServiceConformance(async () => {
    const options = { path: join(folder, `${files++}.db`), keys: [createEncryptionKey()] };
    const opened: SqliteCredentialService[] = [];
    const another = () => {
      const service = new SqliteCredentialService(options);
      opened.push(service);
      return service;
    };
    return { service: another(), another, close: () => opened.forEach((service) => service.close()) };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
