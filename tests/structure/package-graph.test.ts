import { describe, expect, test } from 'vitest';
import {
  allowedEdges,
  forbiddenEdges,
  internalImports,
  packageGraph,
  packageOf,
  packagesInCycles,
  unlistedPackages,
  type PackageGraph,
} from './package-graph.ts';
import { readPackages, readWorkspaces, type Workspace } from './repository.ts';

const graphOf = (edges: Record<string, string[]>): PackageGraph =>
  new Map(Object.entries(edges).map(([from, targets]) => [from, new Set(targets)]));

const samplePackage = (name: string, files: Record<string, string>, dependencies: string[] = []): Workspace => ({
  folder: `packages/${name}`,
  manifest: {
    version: '0.1.0',
    name: `@eventloom/${name}`,
    dependencies: Object.fromEntries(dependencies.map((key) => [key, '1.0.0'])),
  },
  files: Object.entries(files).map(([path, text]) => ({ path: `packages/${name}/src/${path}`, text })),
});

describe('this repository', () => {
  const graph = packageGraph(readPackages());

  test('has at least one package', () => {
    expect(graph.size).toBeGreaterThan(0);
  });

  test('lists every package', () => {
    expect(unlistedPackages(graph, allowedEdges)).toEqual([]);
  });

  test('imports ./internal only in packages and in the page of one', () => {
    expect(internalImports(readWorkspaces())).toEqual([]);
  });

  test('imports along allowed edges only', () => {
    expect(forbiddenEdges(graph, allowedEdges)).toEqual([]);
  });

  test('has no cycle', () => {
    expect(packagesInCycles(graph)).toEqual([]);
  });
});

describe('the graph', () => {
  const core = samplePackage('core', {});

  test('has the edges of manifests', () => {
    const graph = packageGraph([core, samplePackage('tools', {}, ['@eventloom/core', 'hono'])]);
    expect(graph).toEqual(graphOf({ core: [], tools: ['core'] }));
  });

  test.each([
    ["import type { Event } from '@eventloom/core';"],
    ["import '@eventloom/core/wire';"],
    ["export { isFinalResponse } from '@eventloom/core';"],
    ["const core = await import('@eventloom/core');"],
    ["export type Event = import('@eventloom/core').Event;"],
  ])('has the edge of %s', (text) => {
    expect(packageGraph([core, samplePackage('tools', { 'a.ts': text })])).toEqual(
      graphOf({ core: [], tools: ['core'] }),
    );
  });

  test('has no edge of a test file', () => {
    const tools = samplePackage('tools', { 'a.test.ts': "import '@eventloom/core';" });
    expect(packageGraph([core, tools])).toEqual(graphOf({ core: [], tools: [] }));
  });
});

describe('the rules', () => {
  test('name an unlisted package', () => {
    expect(unlistedPackages(graphOf({ core: [], surprise: [] }), allowedEdges)).toEqual(['surprise']);
  });

  test('name an edge that is not allowed, and let core and listed edges pass', () => {
    const graph = graphOf({
      runner: ['core', 'sessions'],
      'llm-agent': ['tools'],
      eventloom: ['runner'],
      core: ['tools'],
    });
    expect(forbiddenEdges(graph, allowedEdges)).toEqual(['runner → sessions', 'core → tools']);
  });

  test('name the packages of a cycle and not their dependents', () => {
    expect(packagesInCycles(graphOf({ a: ['b'], b: ['c'], c: ['b'] }))).toEqual(['b', 'c']);
  });

  test('find the package of a specifier', () => {
    expect(['@eventloom/core/wire', 'hono/streaming', 'zod'].map(packageOf)).toEqual([
      '@eventloom/core',
      'hono',
      'zod',
    ]);
  });
});

describe('an import of ./internal', () => {
  const workspace = (folder: string): Workspace => ({
    folder,
    manifest: { version: '0.1.0', name: 'sample' },
    files: [
      { path: `${folder}/a.ts`, text: "import { isRecord } from '@eventloom/core/internal';" },
      { path: `${folder}/b.ts`, text: "import { openSqlite } from '@eventloom/core/internal/node';" },
    ],
  });

  test.each(['apps/sample', 'examples', 'examples/sample'])('is reported in %s', (folder) => {
    expect(internalImports([workspace(folder)])).toEqual([
      `${folder}/a.ts: @eventloom/core/internal`,
      `${folder}/b.ts: @eventloom/core/internal/node`,
    ]);
  });

  test.each(['packages/sample', 'apps/studio-page'])('is allowed in %s', (folder) => {
    expect(internalImports([workspace(folder)])).toEqual([]);
  });
});
