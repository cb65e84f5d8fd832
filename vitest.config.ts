import { join } from 'node:path';
import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { configDefaults, defineConfig } from 'vitest/config';
import { nodeOnlyFolders } from './tests/structure/node-only-folders.ts';

/**
 * Packages whose tests also run in workerd. A test that needs node is named `*.node.test.ts` or sits in a node-only folder; one
 * that needs workerd is named `*.workers.test.ts`.
 */
const neutralPackages = [
  'core',
  'sessions',
  'artifacts',
  'memory',
  'credentials',
  'tools',
  'gemini',
  'multi-agent',
  'graph',
  'llm-agent',
  'quickjs',
  'runner',
  'eventloom',
  'testing',
];
const nodeOnlyTests = ['**/*.node.test.ts', ...nodeOnlyFolders.map((folder) => `${folder}/**`)];

export default defineConfig({
  test: {
    // Here and not in the project that uses it, whose plugin would load it as if for workerd.
    globalSetup: ['tests/runtimes/gemini/provide-fake-gemini.ts'],
    projects: [
      {
        test: {
          name: 'node',
          include: ['packages/*/src/**/*.test.ts', 'apps/**/*.test.ts', 'examples/**/*.test.ts', 'tests/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'tests/packages/**', '**/*.workers.test.ts'],
          globalSetup: ['tests/runtimes/postgres/provide-postgres.ts'],
        },
      },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: './tests/runtimes/workers/wrangler.jsonc' } })],
        test: {
          name: 'workers',
          include: neutralPackages.map((name) => `packages/${name}/src/**/*.test.ts`),
          exclude: [...configDefaults.exclude, ...nodeOnlyTests],
          isolate: false,
        },
      },
      {
        // Apart from the project above, whose tests call `vi.resetModules()`: an object that lives on when its class was loaded anew breaks.
        plugins: [cloudflareTest({ wrangler: { configPath: './tests/runtimes/worker-server/wrangler.jsonc' } })],
        test: {
          name: 'worker-server',
          include: ['packages/{server,cloudflare}/src/**/*.test.ts'],
          // The processes that PostgreSQL joins are those of Node.
          exclude: [...configDefaults.exclude, ...nodeOnlyTests, 'packages/server/src/postgres/**'],
          setupFiles: ['tests/runtimes/worker-server/delete-objects.ts'],
          isolate: false,
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
        },
      },
      {
        test: {
          name: 'packages',
          include: ['tests/packages/**/*.test.ts'],
          globalSetup: ['tests/packages/pack-packages.ts'],
          testTimeout: 120_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
