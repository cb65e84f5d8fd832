// Starts processes.
import { describe, expect, test } from 'vitest';
import type { CodeSandbox, SandboxProgram } from '../code-execution/sandbox-code-executor.ts';
import { openLocalSandbox } from '../node/index.ts';
import { codeSandboxConformance, ConformanceError, type MakeService } from './index.ts';

const makeLocal: MakeService<CodeSandbox> = async () => {
  const service = await openLocalSandbox();
  return { service, another: () => openLocalSandbox(), close: () => service.close() };
};

describe.each(['python', 'javascript'] as const)('processes of this machine keep the contract with %s', (language) => {
  for (const { id, title, run } of codeSandboxConformance(language, makeLocal)) test(`${id}: ${title}`, run);
});

type Change = (sandbox: CodeSandbox) => Partial<CodeSandbox>;

/** The rule that a broken sandbox fails, what is wrong with it, and its methods that differ from those of a sandbox that keeps the contract. */
const MUTANTS: readonly (readonly [string, string, Change])[] = [
  [
    'run.output',
    'joins the outputs',
    (sandbox) => ({
      async run(program) {
        const { stdout, stderr, exitCode } = await sandbox.run(program);
        return { stdout: stdout + stderr, stderr: '', exitCode };
      },
    }),
  ],
  [
    'run.failure',
    'has no exit codes',
    (sandbox) => ({ run: async (program) => ({ ...(await sandbox.run(program)), exitCode: 0 }) }),
  ],
  ['run.abort', 'answers an abort with a result', (sandbox) => ({ run: (program) => withoutAbort(sandbox, program) })],
  [
    'run.unknown-language',
    'runs every language as JavaScript',
    (sandbox) => ({ run: (program) => sandbox.run({ ...program, code: '', language: 'javascript' }) }),
  ],
  [
    'files.read-by-code',
    'writes the base64 itself',
    (sandbox) => ({
      writeFile: (file, signal) => sandbox.writeFile({ ...file, content: btoa(file.content) }, signal),
    }),
  ],
  [
    'files.overwrite',
    'keeps the first file of a name',
    (sandbox) => {
      const known = new Set<string>();
      return {
        async writeFile(file, signal) {
          if (!known.has(file.name)) await sandbox.writeFile(file, signal);
          known.add(file.name);
        },
      };
    },
  ],
  ['files.written-by-code', 'returns no files', () => ({ readFiles: async () => [] })],
  [
    'files.names',
    'takes the last part of a name',
    (sandbox) => ({
      writeFile: (file, signal) => sandbox.writeFile({ ...file, name: file.name.split('/').at(-1) ?? '' }, signal),
    }),
  ],
  ['close.twice', 'can be used after it was closed', () => ({ close: async () => undefined })],
];

async function withoutAbort(sandbox: CodeSandbox, program: SandboxProgram) {
  return sandbox.run(program).catch((error: unknown) => ({ stdout: '', stderr: String(error), exitCode: 1 }));
}

function makeBroken(change: Change): MakeService<CodeSandbox> {
  return async () => {
    const sandbox = await openLocalSandbox();
    const methods = change(sandbox);
    const service: CodeSandbox = {
      writeFile: methods.writeFile ?? ((file, signal) => sandbox.writeFile(file, signal)),
      run: methods.run ?? ((program) => sandbox.run(program)),
      readFiles: methods.readFiles ?? ((signal) => sandbox.readFiles(signal)),
      close: methods.close ?? (() => sandbox.close()),
    };
    return { service, close: () => sandbox.close() };
  };
}

async function failureOf(rule: string, make: MakeService<CodeSandbox>): Promise<unknown> {
  const found = codeSandboxConformance('javascript', make).find(({ id }) => id === rule);
  return found?.run().then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a broken sandbox fails the case of the rule it breaks', () => {
  test.each(MUTANTS)('%s fails for a sandbox that %s', async (rule, _, change) => {
    const failure = await failureOf(rule, makeBroken(change));
    expect(ConformanceError.isInstance(failure), String(failure)).toBe(true);
    expect(failure).toMatchObject({ rule });
  });

  test('sandbox.apart fails for sandboxes that share a folder', async () => {
    // Without `another` the second sandbox is the first one.
    expect(
      await failureOf(
        'sandbox.apart',
        makeBroken(() => ({})),
      ),
    ).toMatchObject({ rule: 'sandbox.apart' });
  });

  test('every rule has a sandbox that breaks it', () => {
    const rules = codeSandboxConformance('python', makeLocal).map(({ id }) => id);
    expect(rules.filter((id) => !MUTANTS.some(([rule]) => rule === id))).toEqual(['sandbox.apart']);
  });
});
