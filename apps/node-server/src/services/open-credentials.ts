import type { BaseCredentialService } from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import type { CredentialsPlace } from '../settings.ts';
import { readKeyFile } from './read-key-file.ts';

/** A service that is open, and how to close it. */
export interface OpenCredentials {
  readonly service: BaseCredentialService;
  close(): void;
}

/** @throws ConfigurationError when the file, or that of its key, cannot be used */
export async function openCredentials(place: CredentialsPlace): Promise<OpenCredentials> {
  if (place.kind === 'memory') return { service: new InMemoryCredentialService(), close: () => undefined };
  const { file, keys = [readKeyFile(`${file}.key`)] } = place;
  const { SqliteCredentialService } = await import('@eventloom/credentials/sqlite');
  const service = new SqliteCredentialService({ path: file, keys });
  return { service, close: () => service.close() };
}
