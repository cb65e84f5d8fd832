import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPackages } from './repository.ts';

// The lint checks that no values form a cycle of imports. These tests prove that its rule is on and that it finds
// cycles.

const root = path.resolve(import.meta.dirname, '../..');
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'value-cycles-'));
});

afterAll(() => rm(folder, { recursive: true }));

/** Returns the files that the lint finds in a cycle, by name. */
async function filesInCycles(sources: Readonly<Record<string, string>>): Promise<string[]> {
  const sample = await mkdtemp(path.join(folder, 'sample-'));
  for (const [name, text] of Object.entries(sources)) await writeFile(path.join(sample, name), text);
  const output = await lint(['--config', path.join(root, '.oxlintrc.json'), '--format', 'json', sample]);
  const { diagnostics } = JSON.parse(output) as { diagnostics: { code: string; filename: string }[] };
  return diagnostics
    .filter(({ code }) => code === 'import(no-cycle)')
    .map(({ filename }) => path.basename(filename))
    .sort();
}

/** Returns the output of oxlint, which exits with 1 when it reports something. */
function lint(parameters: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const program = path.join(root, 'node_modules/oxlint/bin/oxlint');
  execFile(process.execPath, [program, ...parameters], { cwd: root }, (error, stdout) => {
    if (error && error.code !== 1) reject(error);
    else resolve(stdout);
  });
  return promise;
}

describe('the lint', () => {
  test('finds two files that import values of each other', async () => {
    const found = await filesInCycles({
      'a.ts': "import { b } from './b.ts';\nexport const a = (): unknown => b;\n",
      'b.ts': "import { a } from './a.ts';\nexport const b = (): unknown => a;\n",
    });
    expect(found).toEqual(['a.ts', 'b.ts']);
  });

  test('finds a cycle through a file that only re-exports', async () => {
    const found = await filesInCycles({
      'a.ts': "import { c } from './b.ts';\nexport const a = (): unknown => c;\n",
      'b.ts': "export { c } from './c.ts';\n",
      'c.ts': "import { a } from './a.ts';\nexport const c = (): unknown => a;\n",
    });
    expect(found).toEqual(['a.ts', 'b.ts', 'c.ts']);
  });

  test('allows types to form a cycle with a value', async () => {
    const found = await filesInCycles({
      'a.ts': "import type { B } from './b.ts';\nexport class A {\n  b?: B;\n}\n",
      'b.ts': "import { A } from './a.ts';\nexport class B extends A {}\n",
    });
    expect(found).toEqual([]);
  });
});

describe('this repository', () => {
  test('never turns the rule off, neither by name nor with a general comment', async () => {
    const config = await readFile(path.join(root, '.oxlintrc.json'), 'utf8');
    expect(config.match(/"import\/no-cycle".*/g)).toEqual(['"import/no-cycle": "error",']);
    const disabling = /(?:ox|es)lint-disable(?:-next-line|-line)?[ \t]*(?:\*\/|--|$|[^\n]*no-cycle)/m;
    const files = readPackages().flatMap((workspace) => workspace.files);
    expect(files.filter(({ text }) => disabling.test(text)).map((file) => file.path)).toEqual([]);
  });
});
