import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';

const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));
const NEXT_SUITE = fileURLToPath(import.meta.resolve('mcp-conformance-next/dist/index.js'));
const CLIENT = fileURLToPath(import.meta.resolve('../fixtures/conformance-client.ts'));
const run = promisify(execFile);

let folder = '';
/** The command that starts the client, in one file, because each scenario starts it. */
let client = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
  const outfile = join(folder, 'client.mjs');
  await build({ entryPoints: [CLIENT], outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' });
  client = `${process.execPath} ${outfile}`;
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a suite, and returns what it wrote. */
async function conformance(suite: string, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(process.execPath, [suite, ...args], { cwd: folder, maxBuffer: 2 ** 24 });
  return stdout + stderr;
}

const scenario = (suite: string, name: string, ...args: readonly string[]): Promise<string> =>
  conformance(suite, 'client', '--command', client, '--scenario', name, ...args);

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
  expect(await scenario(SUITE, name)).toContain('OVERALL: PASSED');
});

// The scenarios of revision 2026-07-28 that the suite above does not have, of version 0.2.0-alpha.12.
test.each([
  'tools_call',
  'request-metadata',
  'auth/authorization-server-migration',
  'auth/iss-supported',
  'auth/iss-not-advertised',
  'auth/iss-supported-missing',
  'auth/iss-wrong-issuer',
  'auth/iss-unexpected',
  'auth/iss-normalized',
  'auth/metadata-issuer-mismatch',
  'sep-2322-client-request-state',
  'http-standard-headers',
  'http-custom-headers',
  'http-invalid-tool-headers',
  'json-schema-ref-no-deref',
  'json-schema-2020-12-preservation',
])('the conformance scenario %s of revision 2026-07-28 passes', { timeout: 60_000 }, async (name) => {
  expect(await scenario(NEXT_SUITE, name, '--spec-version', '2026-07-28')).toContain('OVERALL: PASSED');
});

test('the conformance scenario of authorization that an enterprise manages passes', { timeout: 60_000 }, async () => {
  expect(await scenario(NEXT_SUITE, 'auth/enterprise-managed-authorization')).toContain('OVERALL: PASSED');
});

test('all client scenarios of the suite are run', async () => {
  const listed = await conformance(SUITE, 'list');
  const names = listed
    .slice(listed.indexOf('Client scenarios'))
    .split('\n')
    .flatMap((line) => /^ {2}- (\S+)/.exec(line)?.[1] ?? []);
  expect(names).toEqual(SCENARIOS);
});
