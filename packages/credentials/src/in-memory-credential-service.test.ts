import { describe, test } from 'vitest';
import { credentialServiceConformance } from './conformance/index.ts';
import { InMemoryCredentialService } from './in-memory-credential-service.ts';

describe('InMemoryCredentialService keeps the contract', () => {
  const cases = credentialServiceConformance(async () => ({ service: new InMemoryCredentialService() }));
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
