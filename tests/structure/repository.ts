import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** One TypeScript file; `path` is relative to the repository, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

type Versions = Readonly<Record<string, string>>;

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly exports?: Readonly<Record<string, string>>;
  /** Files that differ between runtimes, by a name that begins with `#`, with the file for each condition. */
  readonly imports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly dependencies?: Versions;
  readonly devDependencies?: Versions;
  readonly optionalDependencies?: Versions;
  readonly peerDependencies?: Versions;
}

/** A folder with a manifest. The root is one too, with its own files and `scripts`. */
export interface Workspace {
  /** Path relative to the repository; empty for the root. */
  readonly folder: string;
  readonly manifest: Manifest;
  readonly files: readonly SourceFile[];
}

const repositoryRoot = join(import.meta.dirname, '../..');
const notSources = new Set(['node_modules', 'dist', '.tsc', 'peers']);

const read = new Map<string, readonly Workspace[]>();

/**
 * Returns every workspace of this repository, packages first. `bench/peers` is excluded, because it is installed
 * separately. Each process reads the files once.
 */
export function readWorkspaces(root = repositoryRoot): readonly Workspace[] {
  const workspaces = read.get(root) ?? findWorkspaces(root);
  read.set(root, workspaces);
  return workspaces;
}

function findWorkspaces(root: string): readonly Workspace[] {
  const folders = globSync(
    [
      'packages/*',
      'apps/*',
      'examples',
      'examples/*',
      'tests',
      'tests/adk',
      'tests/browser',
      'tests/clients',
      'tests/runtimes/*',
      'bench',
    ],
    {
      cwd: root,
    },
  ).toSorted();
  const manifested = folders.filter((folder) => existsSync(join(root, folder, 'package.json')));
  const all = [
    ...manifested.map((folder) => readWorkspace(root, folder, '**/*.ts')),
    readWorkspace(root, '', '{*.ts,scripts/**/*.ts}'),
  ];
  return all.map((workspace) => withoutWorkspacesBelow(workspace, manifested));
}

/** Returns a workspace without the files of the workspaces inside it. */
function withoutWorkspacesBelow(workspace: Workspace, folders: readonly string[]): Workspace {
  const below = folders.filter((folder) => folder.startsWith(`${workspace.folder}/`));
  const files = workspace.files.filter(({ path }) => !below.some((folder) => path.startsWith(`${folder}/`)));
  return { ...workspace, files };
}

/** Returns the published workspaces. */
export function readPackages(root = repositoryRoot): Workspace[] {
  return readWorkspaces(root).filter(({ folder }) => folder.startsWith('packages/'));
}

/** True for a test, and for files that only tests use. */
export function isTestFile(path: string): boolean {
  return /\.test(-d)?\.ts$|\/fixtures\//.test(path);
}

function readWorkspace(root: string, folder: string, pattern: string): Workspace {
  const cwd = join(root, folder);
  const paths = globSync(pattern, { cwd, exclude: (name) => notSources.has(name) }).toSorted();
  return {
    folder,
    manifest: JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as Manifest,
    files: paths.map((path) => readSource(root, join(cwd, path))),
  };
}

function readSource(root: string, absolutePath: string): SourceFile {
  return { path: relative(root, absolutePath).replaceAll('\\', '/'), text: readFileSync(absolutePath, 'utf8') };
}
