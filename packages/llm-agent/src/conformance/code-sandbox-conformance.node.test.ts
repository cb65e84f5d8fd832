// Starts processes.
import { type Mutant, mutationCases, overlay } from '@eventloom/core/conformance';
import { describe, test } from 'vitest';
import type { CodeSandbox, SandboxProgram } from '../code-execution/sandbox-code-executor.ts';
import { openLocalSandbox } from '../node/index.ts';
import { codeSandboxConformance, type MakeService } from './index.ts';

const makeLocal: MakeService<CodeSandbox> = async () => {
  const service = await openLocalSandbox();
  return { service, another: () => openLocalSandbox(), close: () => service.close() };
};

describe.each(['python', 'javascript'] as const)('processes of this machine keep the contract with %s', (language) => {
  for (const { id, title, run } of codeSandboxConformance(language, makeLocal)) test(`${id}: ${title}`, run);
});

/** Creates a sandbox with a deliberate fault: `change` returns the methods that differ from those of a sandbox that keeps the contract. */
function broken(
  breaks: string,
  how: string,
  change: (sandbox: CodeSandbox) => Partial<CodeSandbox>,
): Mutant<CodeSandbox> {
  return {
    breaks,
    how,
    make: async () => {
      const sandbox = await openLocalSandbox();
      return { service: overlay<CodeSandbox>(sandbox, change(sandbox)), close: () => sandbox.close() };
    },
  };
}

const mutants = [
  broken('run.output', 'joins the outputs', (sandbox) => ({
    async run(program) {
      const { stdout, stderr, exitCode } = await sandbox.run(program);
      return { stdout: stdout + stderr, stderr: '', exitCode };
    },
  })),
  broken('run.failure', 'has no exit codes', (sandbox) => ({
    run: async (program) => ({ ...(await sandbox.run(program)), exitCode: 0 }),
  })),
  broken('run.abort', 'answers an abort with a result', (sandbox) => ({
    run: (program) => withoutAbort(sandbox, program),
  })),
  broken('run.unknown-language', 'runs every language as JavaScript', (sandbox) => ({
    run: (program) => sandbox.run({ ...program, code: '', language: 'javascript' }),
  })),
  broken('files.read-by-code', 'writes the base64 itself', (sandbox) => ({
    writeFile: (file, signal) => sandbox.writeFile({ ...file, content: btoa(file.content) }, signal),
  })),
  broken('files.overwrite', 'keeps the first file of a name', (sandbox) => {
    const known = new Set<string>();
    return {
      async writeFile(file, signal) {
        if (!known.has(file.name)) await sandbox.writeFile(file, signal);
        known.add(file.name);
      },
    };
  }),
  broken('files.written-by-code', 'returns no files', () => ({ readFiles: async () => [] })),
  broken('files.names', 'takes the last part of a name', (sandbox) => ({
    writeFile: (file, signal) => sandbox.writeFile({ ...file, name: file.name.split('/').at(-1) ?? '' }, signal),
  })),
  broken('close.twice', 'can be used after it was closed', () => ({ close: async () => undefined })),
  // Without `another` the second sandbox is the first one.
  broken('sandbox.apart', 'shares a folder with other sandboxes', () => ({})),
];

async function withoutAbort(sandbox: CodeSandbox, program: SandboxProgram) {
  return sandbox.run(program).catch((error: unknown) => ({ stdout: '', stderr: String(error), exitCode: 1 }));
}

const suite = (make: MakeService<CodeSandbox>) => codeSandboxConformance('javascript', make);

test.each(mutationCases(suite, mutants))('$id $title', ({ run }) => run());
