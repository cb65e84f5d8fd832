/** Reports the size of the one file that a Worker loads, and fails if it is over its budget. */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type BuildOptions } from 'esbuild';
import { readPackages } from '../tests/structure/repository.ts';

const root = join(import.meta.dirname, '..');

/** Bundled as wrangler bundles a Worker with `minify: true` and `keep_names: false`. */
const worker: BuildOptions = {
  platform: 'browser',
  conditions: ['workerd', 'worker', 'browser'],
};

/**
 * Budgets in bytes, gzipped. Raise one if a smaller bundle would need an unreadable import, and say in the message of
 * the commit what the bytes are for.
 */
const bundles = [
  // The aim is 66 kB; docs/decisions/2026-11-30-bundle-sizes.md says what is above it. What a model reads of the questions that it
  // asks, and of their answers, is 0.3 kB. Responses that belong to no call that it reads are dropped, and late ones refused: 0.1 kB.
  { name: 'runtime', entry: 'tests/size/in-memory-agent.ts', budget: 110_400 },
  // The aim is 80 kB. Without live runs, which a server takes as an option. It grows with the runtime. A cancelled copy of a request says
  // which run to follow: 0.1 kB. The requests of a user wait for each other: 0.6 kB.
  { name: 'runtime, server and hono', entry: 'tests/size/server.ts', budget: 167_700 },
  // The limit is 8 kB of 1,024 bytes each: 8.2 kB of 1,000, which are printed here and stand in the guides.
  { name: 'client', entry: 'packages/client/src/index.ts', budget: 8192 },
  // With the state of a chat, which sends messages to their end, reads several runs, and finds what other pages wrote between its own
  // messages. Its methods refuse options that they do not have: 0.2 kB. Of a session that it has read, it reads only what is new: 0.1 kB.
  { name: 'client with a chat', entry: 'tests/size/chat.ts', budget: 9200 },
  // With the base classes and checks that agents load too, and without the vendors' providers.
  { name: 'models of the AI SDK', entry: 'packages/ai-sdk/src/index.ts', budget: 16_000 },
  // With the check of arguments by JSON Schema and of its types, and the reader of YAML (30 kB), which is loaded for a document in YAML.
  { name: 'tools from OpenAPI documents', entry: 'packages/openapi/src/index.ts', budget: 67_500 },
  // With the client library of the protocol (88 kB), and LlmAgent, whose model answers requests of servers. With jose (19.5 kB), which the
  // library imports when a server binds tokens to keys: a bundle of one file has it, elsewhere it is loaded then. With the names of tools
  // that a misspelt filter may have meant. `Calls` makes its rarer collections when they are needed: less than 0.1 kB.
  { name: 'tools of MCP servers', entry: 'packages/mcp/src/index.ts', budget: 145_600 },
  // With the base class of agents, requests for input and the reader of event streams, for agents on other servers, and
  // with what the server shares with its protocols: errors, their statuses, and the checks of ids. `Calls` as above.
  { name: 'agents over A2A', entry: 'packages/a2a/src/index.ts', budget: 36_800 },
  // With the reader of YAML, for the front matter of skills.
  { name: 'skills', entry: 'packages/skills/src/index.ts', budget: 42_500 },
  // Without @opentelemetry/api, which applications install. 2 kB are the exporter's own writer of protobuf: JSON costs a turn more.
  { name: 'spans and metrics', entry: 'packages/otel/src/index.ts', budget: 15_000 },
  // The aim is 185 kB. It grows with the runtime and the server. Studio, its spans and an agent for those who have no key are 9 kB of it.
  { name: 'Worker with Gemini, live and Studio', entry: 'apps/edge-worker/src/worker.ts', budget: 267_600 },
];

console.log('Bundle size, minified / gzip (kB)');
for (const { name, entry, budget } of bundles) {
  const size = await measure(entry, worker);
  console.log(row(name, size));
  if (size.gzip > budget) {
    console.error(`${name}: is over its budget of ${inKilobytes(budget)} kB gzip.`);
    process.exitCode = 1;
  }
}
console.log('Own code of each entry point, for information');
for (const { folder, manifest } of readPackages(root)) {
  for (const [key, source] of Object.entries(manifest.exports ?? {})) {
    const own = await measure(join(folder, source), { platform: 'neutral', packages: 'external' });
    console.log(row(`${manifest.name}${key.slice(1)}`, own));
  }
}

interface Size {
  readonly minified: number;
  readonly gzip: number;
}

async function measure(entry: string, options: BuildOptions): Promise<Size> {
  const { outputFiles } = await build({
    ...options,
    entryPoints: [entry],
    absWorkingDir: root,
    outfile: 'bundle.js',
    bundle: true,
    format: 'esm',
    minify: true,
    target: 'es2024',
    write: false,
    logLevel: 'error',
    // The engine is not code of this project.
    loader: { '.wasm': 'empty' },
  });
  const contents = outputFiles?.[0]?.contents ?? new Uint8Array();
  return { minified: contents.byteLength, gzip: gzipSync(contents).byteLength };
}

function row(name: string, { minified, gzip }: Size): string {
  return `${name.padEnd(36)} ${inKilobytes(minified).padStart(8)} ${inKilobytes(gzip).padStart(8)}`;
}

function inKilobytes(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}
