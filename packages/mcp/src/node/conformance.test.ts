import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));
const CLIENT = fileURLToPath(import.meta.resolve('../fixtures/conformance-client.ts'));
const run = promisify(execFile);

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs the suite, and returns what it wrote. */
async function conformance(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(process.execPath, [SUITE, ...args], { cwd: folder, maxBuffer: 2 ** 24 });
  return stdout + stderr;
}

const scenario = (name: string): Promise<string> =>
  conformance('client', '--command', `${process.execPath} ${CLIENT}`, '--scenario', name);

// The scenarios of version 0.1.16. Another version's list fails the last test.
const SCENARIOS = [
  'initialize',
  'tools_call',
  'elicitation-sep1034-client-defaults',
  'sse-retry',
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/basic-cimd',
  'auth/scope-from-www-authenticate',
  'auth/scope-from-scopes-supported',
  'auth/scope-omitted-when-undefined',
  'auth/scope-step-up',
  'auth/scope-retry-limit',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-post',
  'auth/token-endpoint-auth-none',
  'auth/pre-registration',
  'auth/2025-03-26-oauth-metadata-backcompat',
  'auth/2025-03-26-oauth-endpoint-fallback',
  'auth/resource-mismatch',
  'auth/offline-access-scope',
  'auth/offline-access-not-supported',
  'auth/client-credentials-jwt',
  'auth/client-credentials-basic',
  'auth/cross-app-access-complete-flow',
];

test.each(SCENARIOS)('the conformance scenario %s passes', { timeout: 60_000 }, async (name) => {
  expect(await scenario(name)).toContain('OVERALL: PASSED');
});

test('all client scenarios of the suite are run', async () => {
  const listed = await conformance('list');
  const names = listed
    .slice(listed.indexOf('Client scenarios'))
    .split('\n')
    .flatMap((line) => /^ {2}- (\S+)/.exec(line)?.[1] ?? []);
  expect(names).toEqual(SCENARIOS);
});
