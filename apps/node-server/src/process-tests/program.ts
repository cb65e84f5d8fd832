import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

const MAIN = join(import.meta.dirname, '../main.ts');
/** The folder of the bundle. Each worker of vitest has its own, because they write at the same time. */
const BUILT = join(import.meta.dirname, `../../node_modules/.cache/process-tests/${process.env['VITEST_POOL_ID']}`);

let bundled: Promise<unknown> | undefined;

/**
 * Returns the path of the program: its sources if it loads a folder of agents, which import the same packages;
 * otherwise a bundle, which starts in a third of the time.
 */
async function programFor(args: readonly string[]): Promise<string> {
  if (args.includes('--agents')) return MAIN;
  bundled ??= build({
    entryPoints: [MAIN],
    outdir: BUILT,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true, // Keeps the order in which modules are loaded.
    platform: 'node',
    format: 'esm',
    external: ['pg-native'],
    // `pg` is a CommonJS module.
    banner: { js: 'import { createRequire as from } from "node:module"; const require = from(import.meta.url);' },
    logLevel: 'silent',
  });
  await bundled;
  return join(BUILT, 'main.mjs');
}

/** Options of a program that a test starts. */
export interface ProgramOptions {
  /** Variables that are added to an environment without a key. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The working directory, which also contains all data of the program. */
  readonly folder: string;
}

/** The exit code and the output of a program that has ended. */
export interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A server in a separate process. */
export interface StartedServer extends AsyncDisposable {
  readonly url: string;
  /** The line that the program printed when it was ready. */
  readonly readyText: string;
  /** The warnings that the program printed so far. */
  readonly warnings: string;
  /** Resolves when the program has ended for any reason. */
  readonly ended: Promise<ProgramResult>;
  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<ProgramResult>;
}

/** Creates a folder that is deleted after the test. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'eventloom-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

async function launch(args: readonly string[], { environment, folder }: ProgramOptions): Promise<Launched> {
  const program = await programFor(args);
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, ...environment };
  const child = spawn(process.execPath, [program, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const ended = new Promise<ProgramResult>((resolve) => child.once('close', (code) => resolve({ code, ...output })));
  return { child, output, ended };
}

interface Launched {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly ended: Promise<ProgramResult>;
}

/** Runs the program to its end. */
export async function runProgram(args: readonly string[], options: ProgramOptions): Promise<ProgramResult> {
  const { ended } = await launch(args, options);
  return ended;
}

/** Runs the program until it has printed a text, then interrupts it as Ctrl-C does. */
export async function interruptProgram(
  args: readonly string[],
  options: ProgramOptions,
  text: string,
): Promise<ProgramResult> {
  const { child, output, ended } = await launch(args, options);
  let interrupted = false;
  child.stdout?.on('data', () => {
    // A second signal would end the program at once.
    if (interrupted || !output.stdout.includes(text)) return;
    interrupted = true;
    child.kill('SIGINT');
  });
  return ended;
}

/** Starts a server on a free port and waits until it prints that it is ready. */
export async function startServer(args: readonly string[], options: ProgramOptions): Promise<StartedServer> {
  const { child, output, ended } = await launch(['start', '--port', '0', ...args], options);
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', () => {
      if (output.stdout.includes('\n')) resolve(output.stdout.trimEnd());
    });
    void ended.then(({ code, stderr }) => reject(new Error(`the server ended with ${code}: ${stderr}`)));
  });
  const readyText = await ready;
  return {
    url: /http:\/\/\S+/.exec(readyText)?.[0] ?? '',
    readyText,
    get warnings() {
      return output.stderr;
    },
    ended,
    signal: (signal) => void child.kill(signal),
    end(signal) {
      child.kill(signal);
      return ended;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
