import { execFile } from 'node:child_process';
import { copyFileSync, cpSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { wranglerEnvironment as env } from '../runtimes/spawn-wrangler.ts';
import { readPackages } from '../structure/repository.ts';
import { tarballPath } from './tarball-path.ts';

const run = promisify(execFile);
const installed = [
  'artifacts',
  'client',
  'cloudflare',
  'core',
  'dev',
  'gemini',
  'live',
  'llm-agent',
  'multi-agent',
  'runner',
  'server',
  'sessions',
  'studio',
  'tools',
];

/**
 * An empty project with the packages from their tarballs, the Worker of the example, one that needs no key, one of the server without
 * Durable Objects, with a configuration of its own in `server.jsonc`, and the Worker that is an app here, in `edge-worker`.
 */
export async function createWorkerProject(): Promise<string> {
  const project = mkdtempSync(join(tmpdir(), 'eventloom-worker-'));
  const packages = readPackages().filter(({ folder }) => installed.includes(folder.replace('packages/', '')));
  const tarballs = packages.map(({ manifest }) => [manifest.name, `file:${tarballPath(manifest)}`]);
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'webworker'],
    types: [],
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  };
  const example = join(import.meta.dirname, '../../examples/cloudflare-worker');
  copyWorker(example, project);
  copyWorker(join(import.meta.dirname, '../../apps/edge-worker'), join(project, 'edge-worker'));
  // Its configuration names the page of Studio in the modules next to it.
  symlinkSync('../node_modules', join(project, 'edge-worker/node_modules'));
  copyFileSync(join(import.meta.dirname, 'consumer/worker.ts'), join(project, 'src/keyless-worker.ts'));
  cpSync(join(import.meta.dirname, '../size'), join(project, 'src'), { recursive: true });
  const server = { name: 'server', main: 'src/server.ts', compatibility_date: '2026-11-01' };
  writeFileSync(join(project, 'server.jsonc'), JSON.stringify({ ...server, minify: true, keep_names: false }));
  const manifest = { private: true, type: 'module', dependencies: Object.fromEntries(tarballs) };
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['src', 'edge-worker/src'] }),
  );
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: project });
  return project;
}

/** Copies the sources and the configuration of a Worker. */
function copyWorker(from: string, to: string): void {
  cpSync(join(from, 'src'), join(to, 'src'), { recursive: true, filter: (path) => !path.endsWith('.test.ts') });
  copyFileSync(join(from, 'wrangler.jsonc'), join(to, 'wrangler.jsonc'));
}

/** Runs a program of the workspace in the project and returns its output, which is also in the error of one that fails. */
export async function runIn(project: string, program: string, args: readonly string[]): Promise<string> {
  const failed = (error: Error & { stdout?: string }): never => {
    throw new Error(`${error.message}\n${error.stdout}`);
  };
  return (await run(program, args, { cwd: project, env }).catch(failed)).stdout;
}
