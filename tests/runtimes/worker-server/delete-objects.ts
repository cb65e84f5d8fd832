import { reset } from 'cloudflare:test';
import { afterAll } from 'vitest';

// Objects that are called by name are shared by all files: each file begins with none, and none of its alarms rings in the next.
afterAll(reset);
