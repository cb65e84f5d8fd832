// Credential services that need no runtime beyond web standards, and the interface for storage of your own.

export { InMemoryCredentialService } from './in-memory-credential-service.ts';
export type { EncryptedCredentialServiceOptions, EncryptionOptions } from './encrypted-credential-service.ts';
export { EncryptedCredentialService } from './encrypted-credential-service.ts';
export type { CredentialStore, SealedCredential } from './credential-store.ts';
export { createEncryptionKey, parseEncryptionKey } from './credential-cipher.ts';
export { SealedCredentialError } from './errors.ts';
