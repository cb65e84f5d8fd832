import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { playScenario, type Scenario } from '../fixtures/conformance-client.ts';

const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));
const NEXT_SUITE = fileURLToPath(import.meta.resolve('mcp-conformance-next/dist/index.js'));
const CLIENT = fileURLToPath(import.meta.resolve('../fixtures/start-conformance-client.ts'));
const run = promisify(execFile);

// The suite starts a program for each scenario. It only hands its scenario on to this process, so that the client is loaded once.
const failures = new Map<string, string>();
const player = createServer({ allowHalfOpen: true }, (socket) => {
  void text(socket)
    .then((body) => {
      const scenario = JSON.parse(body) as Scenario;
      return playScenario(scenario).catch((error: unknown) => {
        failures.set(scenario.name, String(error));
        throw error;
      });
    })
    .then(
      () => socket.end(),
      (error: unknown) => socket.end(String(error)),
    );
});
let client = '';
beforeAll(async () => {
  await new Promise<void>((listening) => player.listen(0, '127.0.0.1', listening));
  client = `${process.execPath} ${CLIENT} ${(player.address() as AddressInfo).port}`;
});
afterAll(() => player.close());

interface Check {
  readonly status: string;
  readonly description: string;
  readonly errorMessage?: string;
}

/** Runs all scenarios of a suite side by side, and returns the checks of each. */
async function playAll(program: string, ...args: readonly string[]): Promise<ReadonlyMap<string, readonly Check[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
  const options = ['--command', client, '--timeout', '280000', '-o', folder];
  // Exits with an error when a scenario fails.
  await run(process.execPath, [program, 'client', ...options, ...args], { maxBuffer: 2 ** 24 }).catch(() => undefined);
  const files = globSync('**/checks.json', { cwd: folder });
  const results = files.map((file): [string, readonly Check[]] => [
    dirname(file).replace(/-\d{4}-\d\d-\d\dT[-\dZ]+$/, ''),
    JSON.parse(readFileSync(join(folder, file), 'utf8')) as Check[],
  ]);
  rmSync(folder, { recursive: true });
  return new Map(results);
}

/** Expects that a scenario has checks, and that none of them failed or warns. */
function expectPassed(checks: readonly Check[] = []): void {
  expect(checks.map(({ status }) => status)).toContain('SUCCESS');
  const faults = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  // Lateness is ignored: on a busy machine the client reconnects late through no fault of its own.
  const isLate = ({ errorMessage = '' }: Check): boolean => /^Client reconnected \w+ late /.test(errorMessage);
  expect(faults.filter((fault) => !isLate(fault))).toEqual([]);
}

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

const NEXT_SCENARIOS = [
  'tools_call',
  'request-metadata',
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
  'auth/resource-mismatch',
  'auth/offline-access-scope',
  'auth/offline-access-not-supported',
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
];

describe('the conformance suite', () => {
  let results: ReadonlyMap<string, readonly Check[]>;
  beforeAll(async () => {
    results = await playAll(SUITE, '--suite', 'all');
  });

  test.each(SCENARIOS)('the conformance scenario %s passes', (name) => {
    expectPassed(results.get(name));
  });

  test('all client scenarios of the suite are run', () => {
    expect([...results.keys()].toSorted()).toEqual(SCENARIOS.toSorted());
  });
});

// Revision 2026-07-28, in version 0.2.0-alpha.12: the scenarios of that revision, with the earlier ones that it keeps.
describe('the conformance suite of revision 2026-07-28', () => {
  let results: ReadonlyMap<string, readonly Check[]>;
  let extensions: ReadonlyMap<string, readonly Check[]>;
  beforeAll(async () => {
    results = await playAll(NEXT_SUITE, '--suite', 'all', '--spec-version', '2026-07-28');
    extensions = await playAll(NEXT_SUITE, '--suite', 'extensions');
  });

  test.each(NEXT_SCENARIOS)('the conformance scenario %s of revision 2026-07-28 passes', (name) => {
    expectPassed(results.get(name));
  });

  test('all client scenarios of the revision are run', () => {
    expect([...results.keys()].toSorted()).toEqual(NEXT_SCENARIOS.toSorted());
  });

  // The scenarios for extensions that the suite of version 0.1.16 does not have. Those of skills (sep-2640) are not about tools.
  test.each(['auth/enterprise-managed-authorization', 'auth/dpop', 'auth/dpop-nonce', 'auth/wif-jwt-bearer'])(
    'the conformance scenario %s of an extension passes',
    (name) => expectPassed(extensions.get(name)),
  );
});

test('the client fails only in the scenario whose server it has to refuse', () => {
  expect(Object.fromEntries(failures)).toEqual({ 'auth/resource-mismatch': expect.any(String) });
});
