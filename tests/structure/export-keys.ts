import type { Workspace } from './repository.ts';

export type PinnedKeys = Readonly<Record<string, readonly string[]>>;

/** The entry points of every package. A key added or removed here is a decision about the public surface. */
export const pinnedKeys: PinnedKeys = {
  '@eventloom/core': ['.', './internal', './internal/node', './wire', './conformance'],
  '@eventloom/sessions': ['.', './sqlite', './postgres', './durable-object', './conformance'],
  '@eventloom/artifacts': ['.', './fs', './r2', './gcs', './durable-object', './conformance'],
  '@eventloom/memory': ['.', './sqlite', './conformance'],
  '@eventloom/credentials': ['.', './sqlite', './conformance'],
  '@eventloom/tools': ['.', './built-in', './internal'],
  '@eventloom/openapi': ['.'],
  '@eventloom/skills': ['.', './node'],
  '@eventloom/multi-agent': ['.'],
  '@eventloom/graph': ['.', './internal'],
  '@eventloom/llm-agent': ['.', './internal', './built-in', './node', './conformance'],
  '@eventloom/gemini': ['.'],
  '@eventloom/ai-sdk': ['.'],
  '@eventloom/quickjs': ['.', './node', './engine.wasm'],
  '@eventloom/plugins': ['.'],
  '@eventloom/mcp': ['.', './node'],
  '@eventloom/a2a': ['.', './internal'],
  '@eventloom/otel': ['.'],
  '@eventloom/runner': ['.', './internal'],
  '@eventloom/live': ['.', './server'],
  '@eventloom/server': ['.', './node', './postgres', './jwt', './conformance', './internal'],
  '@eventloom/cloudflare': ['.'],
  '@eventloom/client': ['.', './chat', './live', './react'],
  '@eventloom/studio': ['.', './node'],
  '@eventloom/dev': ['.', './node'],
  '@eventloom/testing': ['.', './fake-gemini'],
  '@eventloom/adk': ['.'],
  eventloom: ['.', './adk', './plugins', './tools'],
};

/** Returns export keys that are not pinned, and pinned keys that no longer exist. */
export function exportKeyChanges(packages: readonly Workspace[], pinned: PinnedKeys): string[] {
  return packages.flatMap(({ manifest }) => {
    const actual = Object.keys(manifest.exports ?? {});
    const expected = pinned[manifest.name] ?? [];
    return [
      ...actual.filter((key) => !expected.includes(key)).map((key) => `${manifest.name} exports ${key}, not pinned`),
      ...expected.filter((key) => !actual.includes(key)).map((key) => `${manifest.name} lost its export ${key}`),
    ];
  });
}

/**
 * Returns export keys whose source is at another path than the key says: `.` is `src/index.ts`, `./x` is
 * `src/x/index.ts`, `./x.wasm` is `src/x.wasm`.
 */
export function misplacedEntries(packages: readonly Workspace[]): string[] {
  return packages.flatMap(({ folder, manifest, files }) =>
    Object.entries(manifest.exports ?? {}).flatMap(([key, source]) => {
      if (key.endsWith('.wasm'))
        return source === `./src${key.slice(1)}` ? [] : [`${manifest.name}: ${key} is ${source}`];
      const expected = `./src${key.slice(1)}/index.ts`;
      if (source !== expected) return [`${manifest.name}: ${key} is ${source}, not ${expected}`];
      const exists = files.some(({ path }) => path === `${folder}/${expected.slice(2)}`);
      return exists ? [] : [`${manifest.name}: ${expected} is missing`];
    }),
  );
}
