import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FakeGeminiServer, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { type BuildOptions, build as esbuild, transform } from 'esbuild';
import { build as rolldown } from 'rolldown';
import { build as tsdown } from 'tsdown';
import { build as vite } from 'vite';
import { webpack } from 'webpack';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPackages } from '../structure/repository.ts';
import { tarballPath } from './tarball-path.ts';

const run = promisify(execFile);
const { resolve } = createRequire(import.meta.url);
const consumer = join(import.meta.dirname, 'consumer');
const modules = join(import.meta.dirname, '../node_modules');
const bun = join(modules, '@oven/bun-linux-x64/bin/bun');
const deno = join(modules, '@deno/linux-x64-glibc/deno');
const packages = readPackages().map(({ manifest }) => manifest);
/** The first line of a bundle that esbuild writes as ESM: it lets CommonJS libraries in the bundle require modules of Node. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** Options of the compiler in Go: each further checker would resolve the shared declarations again. */
const ONE_CHECKER = ['--checkers', '1'];

describe('an empty project on Node that installs every package from its tarball', () => {
  const project = mkdtempSync(join(tmpdir(), 'eventloom-service-'));
  const entry = join(project, 'service.ts');
  const output = (name: string): string => join(project, 'out', name);
  const npm = (...args: string[]) =>
    run('npm', [...args, '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: project });
  afterAll(() => rmSync(project, { recursive: true }));

  beforeAll(async () => {
    const tarballs = packages.map((manifest) => [manifest.name, `file:${tarballPath(manifest)}`]);
    // Optional peers, and the packages that the declarations of @ai-sdk/provider import.
    const peers = {
      '@a2a-js/sdk': '0.3.14',
      express: '4.22.3',
      '@google/genai': '3.1.0',
      '@modelcontextprotocol/server': '2.4.0',
      '@ai-sdk/provider': '4.0.38',
      '@types/json-schema': '7.0.15',
      '@types/react': '19.3.0',
      react: '19.3.1',
    };
    const dependencies = { ...Object.fromEntries(tarballs), ...peers, zod: '4.6.7' };
    writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
    const service = readFileSync(join(consumer, 'node-service.ts'), 'utf8');
    writeFileSync(entry, service);
    // The program for webpack, which cannot read TypeScript.
    writeFileSync(join(project, 'service.js'), (await transform(service, { loader: 'ts' })).code);
    writeFileSync(join(project, 'loaded-files.mjs'), readFileSync(join(consumer, 'loaded-files.mjs'), 'utf8'));
    await npm('install');
  });

  test('loads for `import "eventloom"` only the files that it needs', async () => {
    const { stdout } = await run('node', ['loaded-files.mjs'], { cwd: project });
    const files = stdout
      .trim()
      .split('\n')
      .map((url) => fileURLToPath(url));
    const owners = new Set(
      files.map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file.replace(project, ''))?.[1]),
    );
    expect([...owners].filter((name) => !name?.includes('eventloom'))).toEqual(['@cfworker/json-schema']);
    // Each file takes about half a millisecond at every start, and 100 kB of code take about three.
    expect(files.length).toBeLessThanOrEqual(38);
    // Of this, the conversion of zod schemas takes 9 kB, fallback models and their capabilities 14 kB, and errors that
    // say what to write 24 kB, texts and calls that an interrupted reply lost 3.2 kB, names of input files and values
    // that JSON leaves out 1 kB, the sizes of states 2 kB, calls that are left at the end of a run 5 kB, answers that
    // are refused or come late 2 kB, calls that are found by id and branch 2 kB, and limits of time, results that JSON
    // would lose, answers of another kind and interrupted runs 11 kB, cancelled requests and states of calls 1 kB, and
    // types that JSON Schema does not have, random numbers of the platform and questions that a model asks itself 3 kB.
    expect(files.reduce((sum, file) => sum + statSync(file).size, 0)).toBeLessThanOrEqual(995_000);
  });

  describe('type-checks every entry with the declarations of the libraries (`skipLibCheck: false`)', () => {
    const entries = packages.flatMap(({ name, exports = {} }) =>
      Object.keys(exports).map((key) => name + key.slice(1)),
    );
    // The declarations of @google/genai name types of the DOM.
    const needsDom = (name: string): boolean => /^eventloom|^@eventloom\/(adk|gemini|live)/.test(name);
    const withoutDom = entries.filter((name) => !needsDom(name));
    const dom = { lib: ['es2022', 'dom'], types: [] };
    const webWorker = { lib: ['es2022', 'webworker'], types: [] };
    const node = { lib: ['es2023', 'esnext.disposable'], types: ['node'], typeRoots: [join(modules, '@types')] };
    const nodenext = { module: 'nodenext', exactOptionalPropertyTypes: true };

    /** Writes a program that imports each name and its configuration, and returns the path of the configuration. */
    function writeProgram(title: string, options: object, names: readonly string[]): string {
      const file = title.replaceAll(/\W/g, '-');
      const text = names.map((specifier, index) => `export * as entry${index} from '${specifier}';\n`).join('');
      writeFileSync(join(project, `${file}.ts`), text);
      // Faults in the compiler's own declarations are not checked.
      const checks = { strict: true, skipLibCheck: false, skipDefaultLibCheck: true };
      const compilerOptions = { target: 'es2022', noEmit: true, ...checks, ...options };
      writeFileSync(join(project, `${file}.json`), JSON.stringify({ compilerOptions, files: [`${file}.ts`] }));
      return `${file}.json`;
    }

    /**
     * Runs a Node program, and returns its output. With a larger young generation, a compiler in JavaScript takes a
     * quarter less time.
     */
    async function compile(...args: readonly string[]): Promise<string> {
      const { stdout } = await run('node', ['--max-semi-space-size=64', ...args], { cwd: project }).catch(
        (error: { readonly stdout: string }) => error,
      );
      return stdout;
    }

    const tsc = (compiler: string, title: string, options: object, names: readonly string[]): Promise<string> =>
      compile(
        join(resolve(`${compiler}/package.json`), '../bin/tsc'),
        ...(compiler === 'typescript' ? ONE_CHECKER : []),
        '-p',
        writeProgram(`${compiler} ${title}`, options, names),
      );

    test('with typescript-5.6, commonjs, nodenext and bundler', { timeout: 600_000 }, async () => {
      const programs = [
        writeProgram('5.6 commonjs', { module: 'commonjs', moduleResolution: 'node10', ...dom }, entries),
        writeProgram('5.6 bundler', { module: 'esnext', moduleResolution: 'bundler', ...dom }, entries),
        writeProgram('5.6 nodenext', { ...nodenext, ...dom }, entries),
      ];
      const compiler = resolve('typescript-5.6/lib/typescript.js');
      const printed = await compile(join(import.meta.dirname, 'compile.ts'), compiler, ...programs);
      expect(printed).toBe(programs.map((program) => `${program}: 0 errors\n`).join(''));
    });

    test.concurrent.for([
      ['typescript-6.0', 'nodenext', { ...nodenext, ...dom }, entries],
      ['typescript', 'commonjs', { module: 'commonjs', moduleResolution: 'bundler', ...dom }, entries],
      ['typescript', 'nodenext', { ...nodenext, ...dom }, entries],
      ['typescript', 'bundler for workers', { module: 'esnext', moduleResolution: 'bundler', ...webWorker }, entries],
      ['typescript', 'nodenext without the DOM', { ...nodenext, ...node }, withoutDom],
    ] as const)('with %s, %s', async ([compiler, title, options, names]) => {
      expect(await tsc(compiler, title, options, names)).toBe('');
    });

    test('without the DOM, with Gemini, only @google/genai 3.1.0 has errors: it names three types of the DOM', async () => {
      const output = await tsc('typescript', 'Gemini without the DOM', { ...nodenext, ...node }, ['eventloom']);
      const errors = output.split('\n').filter((line) => line.includes('error TS'));
      expect(errors.filter((line) => !line.startsWith('node_modules/@google/genai/'))).toEqual([]);
      const missing = errors.map((line) => /Cannot find name '(\w+)'/.exec(line)?.[1] ?? line);
      expect([...new Set(missing)].toSorted()).toEqual(['ErrorEvent', 'HeadersInit', 'RequestInfo']);
    });
  });

  test('can be required by a CommonJS program', async () => {
    const program = "console.log(typeof require('eventloom').LlmAgent, typeof require('@eventloom/server/node').serve)";
    const { stdout } = await run('node', ['--input-type=commonjs', '-e', program], { cwd: project });
    expect(stdout).toBe('function function\n');
  });

  /** Runs the program, whose model is Gemini, and returns its output. */
  async function ask(program: string, ...args: string[]): Promise<string> {
    const call = { name: 'weather', args: { city: 'Oslo' } };
    const replies = [wireResponse({ calls: [call] }), wireResponse('It is clear.')].map((reply) => jsonReply(reply));
    await using gemini = await FakeGeminiServer.start(replies);
    const { stdout } = await run(program, args, { cwd: project, env: { ...process.env, GEMINI_URL: gemini.url } });
    gemini.assertConsumed();
    return stdout;
  }

  test('starts and answers a turn with Gemini, from the sources', async () => {
    expect(await ask('node', 'service.ts')).toBe('It is clear.\n');
  });

  describe('starts and answers a turn when it is bundled', () => {
    const shared: BuildOptions = { entryPoints: [entry], bundle: true, platform: 'node', logLevel: 'error' };

    test('with a model of its own, by esbuild as ESM', async () => {
      await esbuild({ ...shared, format: 'esm', outfile: output('esbuild-plain.mjs') });
      const { stdout } = await run('node', [output('esbuild-plain.mjs')]);
      expect(stdout).toBe('It is clear.\n');
    });

    test('with Gemini, by esbuild as ESM with a banner that makes `require`', async () => {
      await esbuild({ ...shared, format: 'esm', outfile: output('esbuild.mjs'), banner: { js: REQUIRE } });
      expect(await ask('node', output('esbuild.mjs'))).toBe('It is clear.\n');
    });

    test('with Gemini, by esbuild as CommonJS', async () => {
      await esbuild({ ...shared, format: 'cjs', outfile: output('esbuild.cjs') });
      expect(await ask('node', output('esbuild.cjs'))).toBe('It is clear.\n');
    });

    test('with Gemini, by vite for a server', async () => {
      const outDir = output('vite');
      const ssr = { noExternal: true, target: 'node' } as const;
      await vite({ root: project, configFile: false, logLevel: 'error', build: { ssr: entry, outDir }, ssr });
      expect(await ask('node', join(outDir, 'service.js'))).toBe('It is clear.\n');
    });

    test('with Gemini, by webpack', async () => {
      await new Promise<void>((done, fail) => {
        const config = {
          mode: 'production',
          optimization: { minimize: false },
          context: project,
          entry: './service.js',
          target: 'node',
          experiments: { outputModule: true },
          output: { path: output('webpack'), filename: 'service.mjs', module: true, chunkFormat: 'module' },
        } as const;
        webpack(config, (error, stats) => {
          if (error || stats?.hasErrors()) fail(error ?? new Error(stats?.toString('errors-only')));
          else done();
        });
      });
      expect(await ask('node', output('webpack/service.mjs'))).toBe('It is clear.\n');
    });

    test('with Gemini, by rolldown', async () => {
      const into = { dir: output('rolldown'), format: 'esm' } as const;
      await rolldown({ input: entry, platform: 'node', logLevel: 'silent', output: into });
      expect(await ask('node', output('rolldown/service.js'))).toBe('It is clear.\n');
    });

    test('with Gemini, by tsdown', async () => {
      const deps = { alwaysBundle: /./, onlyBundle: false } as const;
      const into = { outDir: output('tsdown'), platform: 'node', format: 'esm' } as const;
      await tsdown({ config: false, cwd: project, entry, logLevel: 'silent', dts: false, deps, ...into });
      expect(await ask('node', output('tsdown/service.mjs'))).toBe('It is clear.\n');
    });

    test.skipIf(!existsSync(bun))('with Gemini, by Bun, on Bun and on Node', async () => {
      await run(bun, ['build', entry, '--target=node', `--outfile=${output('bun.mjs')}`], { cwd: project });
      expect(await ask(bun, output('bun.mjs'))).toBe('It is clear.\n');
      expect(await ask('node', output('bun.mjs'))).toBe('It is clear.\n');
    });

    test.skipIf(!existsSync(deno))('with Gemini, by Deno, on Deno and on Node', async () => {
      const bundle = ['bundle', '--quiet', '--node-modules-dir=manual', '--platform=deno', '-o', output('deno.mjs')];
      await run(deno, [...bundle, entry], { cwd: project });
      expect(await ask(deno, 'run', '--allow-all', output('deno.mjs'))).toBe('It is clear.\n');
      expect(await ask('node', output('deno.mjs'))).toBe('It is clear.\n');
    });
  });

  describe('changes only the imports of programs written for @google/adk, and', () => {
    const programs = join(import.meta.dirname, '../adk');
    const moved = join(project, 'adk');
    const names = globSync('programs/*.ts', { cwd: programs }).toSorted();
    const play = (folder: string, library: string): Promise<{ readonly stdout: string }> =>
      run('node', ['play-programs.ts', library, ...names], { cwd: folder, maxBuffer: 1 << 26 });

    beforeAll(() => {
      mkdirSync(join(moved, 'programs'), { recursive: true });
      const shared = [
        'converse.ts',
        'local-servers.ts',
        'normalize-event.ts',
        'normalize-request.ts',
        'play-programs.ts',
        'stage.ts',
        'stdio-mcp-server.ts',
      ];
      for (const name of [...names, ...shared]) {
        const text = readFileSync(join(programs, name), 'utf8');
        writeFileSync(join(moved, name), text.replaceAll("'@google/adk'", "'eventloom/adk'"));
      }
    });

    test('type-checks them', async () => {
      const compilerOptions = {
        module: 'nodenext',
        target: 'es2024',
        lib: ['es2024', 'dom', 'esnext.disposable'],
        types: ['node'],
        typeRoots: [join(modules, '@types')],
        strict: true,
        noEmit: true,
        allowImportingTsExtensions: true,
      };
      writeFileSync(join(moved, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*.ts'] }));
      const tsc = join(resolve('typescript/package.json'), '../bin/tsc');
      const { stdout } = await run('node', [tsc, ...ONE_CHECKER, '-p', moved]).catch(
        (error: { readonly stdout: string }) => error,
      );
      expect(stdout).toBe('');
    });

    test('plays them as the tests of the repository do, which compare them with @google/adk', async () => {
      const [packed, workspace] = await Promise.all([play(moved, 'eventloom/adk'), play(programs, '@eventloom/adk')]);
      const lines = packed.stdout.trim().split('\n');
      expect(lines.length).toBe(names.length);
      expect(lines).toEqual(workspace.stdout.trim().split('\n'));
    });
  });

  // Last, because it changes the installed packages.
  test('accepts schemas of an installed zod 3', async () => {
    await npm('install', 'zod@3.25.76');
    const program = `
      import { FunctionTool } from 'eventloom';
      import * as z from 'zod';
      const parameters = z.object({ city: z.string() });
      const tool = new FunctionTool({ name: 'f', description: '', parameters, execute: ({ city }) => city });
      console.log(JSON.stringify(tool._getDeclaration().parametersJsonSchema), await tool.runAsync({ args: { city: 'Paris' } }));`;
    const { stdout } = await run('node', ['--input-type=module', '-e', program], { cwd: project });
    expect(stdout).toBe('{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]} Paris\n');
  });
});
