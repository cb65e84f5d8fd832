import { execFile, spawn } from 'node:child_process';
import { copyFileSync, cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readPackages } from '../structure/repository.ts';
import { tarballPath } from './tarball-path.ts';

const run = promisify(execFile);
const installed = [
  'artifacts',
  'cloudflare',
  'core',
  'gemini',
  'live',
  'llm-agent',
  'multi-agent',
  'runner',
  'server',
  'sessions',
  'tools',
];
const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false', CI: 'true' };

/** A server that `wrangler dev` runs. */
export interface DevServer {
  readonly origin: string;
  stop(): Promise<void>;
}

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

/** Its sources and its configuration. */
function copyWorker(from: string, to: string): void {
  cpSync(join(from, 'src'), join(to, 'src'), { recursive: true, filter: (path) => !path.endsWith('.test.ts') });
  copyFileSync(join(from, 'wrangler.jsonc'), join(to, 'wrangler.jsonc'));
}

/** Runs a program of the workspace in the project and returns its output. */
export async function runIn(project: string, program: string, args: readonly string[]): Promise<string> {
  return (await run(program, args, { cwd: project, env })).stdout;
}

/** Starts `wrangler dev` on a free port, and settles when it answers. */
export async function startDevServer(
  project: string,
  entry: string,
  vars: Readonly<Record<string, string>> = {},
): Promise<DevServer> {
  const args = ['dev', entry, '--local', '--ip', '127.0.0.1', '--port', '0', '--inspector-port', '0'];
  for (const [name, value] of Object.entries(vars)) args.push('--var', `${name}:${value}`);
  // A group of its own: the runtime is a child of a child, and ends with it.
  const child = spawn('wrangler', args, { cwd: project, env, detached: true });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
  };
  let output = '';
  const origin = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const ready = /Ready on (http:\/\/127\.0\.0\.1:\d+)/.exec(output)?.[1];
      if (ready !== undefined) resolve(ready);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void ended.then(() => reject(new TypeError(`wrangler dev ended before it was ready: ${output}`)));
  });
  return { origin, stop };
}
