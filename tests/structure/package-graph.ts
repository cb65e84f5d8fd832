import { importedSpecifiers } from './module-syntax.ts';
import { isTestFile, type Workspace } from './repository.ts';

/** The packages that each package imports. Names are those of the folders under `packages`. */
export type PackageGraph = ReadonlyMap<string, ReadonlySet<string>>;

/** The packages that each package may import in addition to `core`. A package that is not listed here may not exist. */
export type AllowedEdges = Readonly<Record<string, readonly string[] | 'all'>>;

/** The direction of imports, see the architecture: core ← middle packages ← llm-agent ← runner ← server ← live, cloudflare ← apps. */
export const allowedEdges: AllowedEdges = {
  core: [],
  sessions: [],
  artifacts: [],
  memory: [],
  credentials: [],
  tools: [],
  gemini: [],
  'ai-sdk': [],
  quickjs: [],
  otel: [],
  testing: [],
  // It uses the protocol of a server, and shares types with it.
  client: [],
  openapi: ['tools'],
  skills: [],
  'multi-agent': ['tools'],
  graph: ['tools'],
  'llm-agent': ['tools', 'multi-agent'],
  // Its function for the instruction of all agents fills placeholders like that of one agent.
  plugins: ['llm-agent'],
  // Servers request samples from the model of the agent that calls them.
  mcp: ['tools', 'llm-agent'],
  // The runner compacts sessions after runs, and llm-agent has the code that summarizes events.
  runner: ['tools', 'llm-agent'],
  // `./server` extends a server, which has live runs only as an option.
  live: ['multi-agent', 'llm-agent', 'runner', 'server'],
  server: ['runner'],
  studio: ['server'],
  dev: ['server'],
  a2a: ['server'],
  cloudflare: ['server', 'runner', 'sessions', 'artifacts'],
  // It has the names of another library for all of Eventloom.
  adk: 'all',
  eventloom: 'all',
};

/** Returns the edges of manifests and of import statements. Test files and devDependencies are ignored. */
export function packageGraph(packages: readonly Workspace[]): PackageGraph {
  const shortNames = new Map(packages.map(({ folder, manifest }) => [manifest.name, shortName(folder)]));
  return new Map(
    packages.map(({ folder, manifest, files }) => {
      const sources = files.filter(({ path }) => !isTestFile(path));
      const used = [
        ...Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies }),
        ...sources.flatMap(importedSpecifiers).map(packageOf),
      ];
      const targets = used.flatMap((name) => shortNames.get(name) ?? []);
      return [shortName(folder), new Set(targets.filter((target) => target !== shortName(folder)))];
    }),
  );
}

export function unlistedPackages(graph: PackageGraph, allowed: AllowedEdges): string[] {
  return [...graph.keys()].filter((name) => !(name in allowed));
}

export function forbiddenEdges(graph: PackageGraph, allowed: AllowedEdges): string[] {
  return [...graph].flatMap(([from, targets]) => {
    const mayImport = allowed[from] ?? [];
    if (mayImport === 'all') return [];
    return [...targets].filter((to) => to !== 'core' && !mayImport.includes(to)).map((to) => `${from} → ${to}`);
  });
}

/** Returns the packages that can be reached from themselves. */
export function packagesInCycles(graph: PackageGraph): string[] {
  return [...graph.keys()].filter((start) => {
    const reached = new Set<string>();
    const open = [...(graph.get(start) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (reached.has(next)) continue;
      reached.add(next);
      open.push(...(graph.get(next) ?? []));
    }
    return reached.has(start);
  });
}

/** `@scope/name/deep` → `@scope/name`; `name/deep` → `name`. */
export function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function shortName(folder: string): string {
  return folder.replace('packages/', '');
}

/** Returns imports of a `./internal`, which only packages and the page that is built into one may use: `file: specifier`. */
export function internalImports(workspaces: readonly Workspace[]): string[] {
  const outside = workspaces.filter(
    ({ folder }) => /^(apps|examples)(\/|$)/.test(folder) && folder !== 'apps/studio-page',
  );
  return outside.flatMap(({ files }) =>
    files.flatMap((file) =>
      importedSpecifiers(file)
        .filter((specifier) => /^@eventloom\/[^/]+\/internal(\/|$)/.test(specifier))
        .map((specifier) => `${file.path}: ${specifier}`),
    ),
  );
}
