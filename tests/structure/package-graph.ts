import { importedSpecifiers } from './module-syntax.ts';
import { isTestFile, type Workspace } from './repository.ts';

/** For each package, the packages it imports. Names are those of the folders under `packages`. */
export type PackageGraph = ReadonlyMap<string, ReadonlySet<string>>;

/** For each package, whom it may import beside `core`. A package that is not listed here may not exist. */
export type AllowedEdges = Readonly<Record<string, readonly string[] | 'all'>>;

/** The direction of imports, see the architecture: core ← middle packages ← llm-agent ← runner ← server ← cloudflare ← apps. */
export const allowedEdges: AllowedEdges = {
  core: [],
  sessions: [],
  artifacts: [],
  memory: [],
  credentials: [],
  tools: [],
  gemini: [],
  quickjs: [],
  testing: [],
  'multi-agent': ['tools'],
  graph: ['tools'],
  'llm-agent': ['tools', 'multi-agent'],
