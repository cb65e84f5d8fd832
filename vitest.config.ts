import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { processTests, unitTests } from './scripts/node-tests.ts';
import { nodeOnlyFolders } from './tests/structure/node-only-folders.ts';

/**
 * Folders whose tests run in workerd as well as in node, because what they test depends on the runtime. The other packages reach the
 * runtime only through these, so their tests run in node alone; `eventloom` plays recorded runs through all of them in workerd. The tests
 * of `server` and `cloudflare` have the project `worker-server`. A test that needs node is named `*.node.test.ts` or sits in a
 * node-only folder; one that needs workerd is named `*.workers.test.ts`, and runs there wherever it is.
 */
const workerdFolders = [
  'a2a/src', // fetch, event streams, aborts
  'ai-sdk/src', // fetch and streams of the providers
  'artifacts/src', // R2, Durable Objects, streams of bytes
  'client/src', // fetch, event streams, aborts, timers, and React on a server
  'core/src', // clock, timers, random ids, abort signals, base64, structuredClone
  'credentials/src', // Web Crypto
  'eventloom/src', // whole runs through all packages
  'gemini/src', // the web client of @google/genai: fetch, streams, WebSockets
  'live/src', // AbortSignal.any, queues that wait, live sockets that close, time-outs, reconnects
  'otel/src', // asynchronous contexts
  'mcp/src', // fetch, event streams, aborts, the client library's build for workerd
  'openapi/src', // fetch, redirects, streams of bytes, FormData
  'quickjs/src', // WebAssembly
  'skills/src', // scripts in QuickJS, bytes
  'sessions/src', // SQLite of Durable Objects, the order of text, timers of leases
];
const nodeOnlyTests = ['**/*.node.test.ts', ...nodeOnlyFolders.map((folder) => `${folder}/**`)];

/**
 * The time limits of all tests. They end what would never end, and are not a promise: a test passes on a machine that
 * is ten times slower or does other work. So no test sets a shorter one (see tests/structure/time-limits.ts), and tests
 * wait with `expect.poll`, because `vi.waitFor` and `vi.waitUntil` give up after a second.
 */
const limits = { testTimeout: 300_000, hookTimeout: 300_000, expect: { poll: { timeout: 120_000 } } };

/** Tests that take long although their files are small: attacks, counts, and suites over the storage of another process. */
const longTests = [
  // Each run of QuickJS has a memory of its own, for which V8 soon marks the whole heap: first, while the worker's heap is small.
  'packages/quickjs/src/run-in-quickjs',
  'tests/nemesis/',
  'tests/agent-trees/',
  'tests/workflows/',
  'tests/back-ends/',
  'tests/processes/',
  'tests/clients/',
  'tests/browser/',
  'bench/src/counts/',
  'packages/sessions/src/postgres/postgres-session-service',
  'packages/server/src/postgres/processes',
  'packages/mcp/src/node/conformance',
  'packages/gemini/src/interrupted-streams',
];

/**
 * Begins with the files that take long whatever their size, so that none of them is the last, alone: first those above,
 * then the others outside of packages, which start processes, and those of workerd alone, which fill its storage. The
 * others are sorted as vitest does.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const root = import.meta.dirname;
    const packages = join(root, 'packages/');
    const rank = ({ moduleId }: TestSpecification): number => {
      if (longTests.some((path) => moduleId.startsWith(join(root, path)))) return 0;
      return moduleId.startsWith(packages) && !moduleId.endsWith('.workers.test.ts') ? 2 : 1;
    };
    // A project's files stay together, because its workers end when a file of another project is next.
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project);
    return Array.from(projects.values(), (own) => own.toSorted((a, b) => rank(a) - rank(b))).flat();
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // Not more, although workers wait for processes and browsers: each loads all modules, and other scripts run beside this one.
    maxWorkers: availableParallelism(),
    // Here and not in the project that uses it, whose plugin would load it as if for workerd.
    globalSetup: ['tests/runtimes/gemini/provide-fake-gemini.ts', 'tests/runtimes/api/provide-api.ts'],
    projects: [
      {
        test: {
          name: 'node',
          include: [...processTests, ...unitTests],
          exclude: [...configDefaults.exclude, 'tests/packages/**', '**/*.workers.test.ts'],
          globalSetup: [
            'tests/runtimes/postgres/provide-postgres.ts',
            'tests/runtimes/clients/provide-clients-worker.ts',
          ],
          setupFiles: ['tests/runtimes/node/reset-modules.ts'],
          // Node loads the modules, as it does for users, and no transformed copies: that saves a tenth of the processor time.
          experimental: { viteModuleRunner: false, nodeLoader: false },
          // The tests of a worker share its modules, which are loaded once: no test may leave anything behind in them.
          isolate: false,
          ...limits,
          // Tests make many short-lived objects: with a larger young generation a tenth of their processor time is saved.
          execArgv: ['--max-semi-space-size=32'],
          // Programs that tests start are compiled once and not at every start.
          env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/node') },
        },
      },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: './tests/runtimes/workers/wrangler.jsonc' } })],
        test: {
          name: 'workers',
          include: [
            'packages/*/src/**/*.workers.test.ts',
            ...workerdFolders.map((folder) => `packages/${folder}/**/*.test.ts`),
          ],
          // The conformance suites are run on the services of workerd here; that they notice a broken service is shown in node.
          exclude: [
            ...configDefaults.exclude,
            ...nodeOnlyTests,
            'packages/{server,cloudflare}/**',
            'packages/*/src/conformance/**',
          ],
          isolate: false,
          ...limits,
        },
      },
      {
        // Separate from the project above, whose tests call `vi.resetModules()`: objects that live on break when their
        // class is loaded again.
        plugins: [cloudflareTest({ wrangler: { configPath: './tests/runtimes/worker-server/wrangler.jsonc' } })],
        test: {
          name: 'worker-server',
          include: ['packages/{server,cloudflare}/src/**/*.test.ts'],
          // The processes that PostgreSQL joins are those of Node.
          exclude: [...configDefaults.exclude, ...nodeOnlyTests, 'packages/server/src/postgres/**'],
          setupFiles: ['tests/runtimes/worker-server/delete-objects.ts'],
          isolate: false,
          ...limits,
        },
      },
      {
        // The same tests of Gemini with the client that there is where there is no node.
        resolve: {
          alias: {
            '#genai-client': join(import.meta.dirname, 'packages/gemini/src/client/web/create-genai-client.ts'),
            '@google/genai': '@google/genai/web',
          },
        },
        test: {
          name: 'gemini-web',
          include: ['packages/gemini/src/{*,cache/*,live/*.node}.test.ts'],
          // WebSockets as in a browser: they send no headers and do not tell the status of a refusal.
          env: { GEMINI_SOCKETS: 'web' },
          isolate: false,
          ...limits,
        },
      },
      {
        test: {
          name: 'packages',
          include: ['tests/packages/**/*.test.ts'],
          globalSetup: ['tests/packages/pack-packages.ts'],
          ...limits,
        },
      },
    ],
  },
});
