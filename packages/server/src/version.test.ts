import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { VERSION } from './version.ts';

test('VERSION is the version of the manifest', () => {
  expect(VERSION).toBe(manifest.version);
});
