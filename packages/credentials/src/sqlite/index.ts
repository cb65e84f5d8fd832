// Encrypted credentials in a SQLite file. Needs node:sqlite, and nothing else.

export type { SqliteCredentialServiceOptions } from './sqlite-credential-service.ts';
export { SqliteCredentialService } from './sqlite-credential-service.ts';
