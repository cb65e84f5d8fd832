import { reset } from 'cloudflare:test';
import { afterAll } from 'vitest';

// Objects with a name are shared by all files, so each file begins without objects, and no alarm of one file fires in
// the next.
afterAll(reset);
