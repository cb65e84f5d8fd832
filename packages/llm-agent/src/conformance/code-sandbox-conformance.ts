import { type CodeFile, decodeBase64, encodeBase64 } from '@eventloom/core';
import {
  type ConformanceCase,
  conformanceCases,
  type ConformanceOptions,
  type ConformanceRule,
  type Expect,
  type MakeService,
} from '@eventloom/core/conformance';
import type { CodeSandbox, SandboxResult } from '../code-execution/sandbox-code-executor.ts';

/** Programs that the cases run, in the language of a sandbox. */
interface Programs {
  /** Prints `one` to the standard output and `two` to the standard error. */
  readonly prints: string;
  readonly fails: string;
  /** Runs until it is ended from outside. */
  readonly hangs: string;
  /** Prints the text of the file `in.txt`. */
  readonly reads: string;
  /** Writes the text `out` to the file `out.txt`. */
  readonly writes: string;
  /** Prints the names of the files in the folder, joined by commas. */
  readonly lists: string;
}

const PROGRAMS: Readonly<Record<'python' | 'javascript', Programs>> = {
  python: {
    prints: 'import sys\nprint("one")\nprint("two", file=sys.stderr)',
    fails: 'raise ValueError("no")',
    hangs: 'while True: pass',
    reads: 'print(open("in.txt").read())',
    writes: 'open("out.txt", "w").write("out")',
    lists: 'import os\nprint(",".join(sorted(os.listdir("."))))',
  },
  javascript: {
    prints: 'console.log("one"); console.error("two");',
    fails: 'throw new TypeError("no");',
    hangs: 'for (;;);',
    reads: 'console.log(require("node:fs").readFileSync("in.txt", "utf8"));',
    writes: 'require("node:fs").writeFileSync("out.txt", "out");',
    lists: 'console.log(require("node:fs").readdirSync(".").sort().join(","));',
  },
};

const NEVER = new AbortController().signal;
const IN: CodeFile = {
  name: 'in.txt',
  content: encodeBase64(new TextEncoder().encode('tea ☕')),
  mimeType: 'text/plain',
};

/**
 * Returns the contract of `CodeSandbox` as cases for any test runner: run each; a broken rule rejects with a
 * ConformanceError that names it. Every case opens its own sandbox; `another` opens a second one.
 *
 * ```ts
 * import { openLocalSandbox } from '@eventloom/llm-agent/node';
 *
 * const makeSandbox = async () => ({ service: await openLocalSandbox(), another: () => openLocalSandbox() });
 * for (const { id, title, run } of codeSandboxConformance('python', makeSandbox)) test(`${id}: ${title}`, run);
 * ```
 * @param language a language that the sandbox runs
 * @throws ConfigurationError for a deviation from a case that does not exist
 */
export function codeSandboxConformance(
  language: 'python' | 'javascript',
  makeSandbox: MakeService<CodeSandbox>,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  return conformanceCases(rulesFor(language), makeSandbox, options);
}

function rulesFor(language: 'python' | 'javascript'): readonly ConformanceRule<CodeSandbox>[] {
  const programs = PROGRAMS[language];
  const run = (sandbox: CodeSandbox, name: keyof Programs, abortSignal = NEVER): Promise<SandboxResult> =>
    sandbox.run({ code: programs[name], language, abortSignal });
  return [
    {
      id: 'run.output',
      title: 'A program that works has exit code 0, and its two outputs are apart.',
      async check({ service, expect }) {
        const { stdout, stderr, exitCode } = await run(service, 'prints');
        expect.same('the outputs', [stdout.trim(), stderr.trim(), exitCode], ['one', 'two', 0]);
      },
    },
    {
      id: 'run.failure',
      title: 'A program that fails is a result with its error and another exit code than 0.',
      async check({ service, expect }) {
        const { stderr, exitCode } = await expect.fulfils('the failure', run(service, 'fails'));
        expect.different('the exit code', exitCode, 0);
        expect.true('the error is in stderr', stderr.includes('no'));
      },
    },
    {
      id: 'run.abort',
      title: 'When the signal fires, a program that does not end is stopped, and the call rejects.',
      async check({ service, expect }) {
        const controller = new AbortController();
        const running = run(service, 'hangs', controller.signal);
        controller.abort(new Error('enough'));
        expect.true('the call rejects', await rejects(running));
        await expect.fulfils('closing it', service.close());
      },
    },
    {
      id: 'run.unknown-language',
      title: 'A program in a language that the sandbox does not run is a result with another exit code than 0.',
      async check({ service, expect }) {
        const running = service.run({ code: 'x', language: 'no-such-language', abortSignal: NEVER });
        expect.different('the exit code', (await expect.fulfils('the call', running)).exitCode, 0);
      },
    },
    {
      id: 'files.read-by-code',
      title: 'A file that was written is in the folder of the program, byte for byte.',
      async check({ service, expect }) {
        await service.writeFile(IN, NEVER);
        expect.same('the text', (await run(service, 'reads')).stdout.trim(), 'tea ☕');
      },
    },
    {
      id: 'files.overwrite',
      title: 'A file replaces one of the same name.',
      async check({ service, expect }) {
        await service.writeFile({ ...IN, content: btoa('coffee and cake') }, NEVER);
        await service.writeFile(IN, NEVER);
        expect.same('the text', (await run(service, 'reads')).stdout.trim(), 'tea ☕');
      },
    },
    {
      id: 'files.written-by-code',
      title: 'A file that a program wrote is among the files, with its bytes, and stays for the next program.',
      async check({ service, expect }) {
        await run(service, 'writes');
        const file = (await service.readFiles(NEVER)).find(({ name }) => name === 'out.txt');
        const { content } = expect.present('the file', file);
        expect.same('the text', new TextDecoder().decode(decodeBase64(content)), 'out');
        expect.same('the folder of the next program', (await run(service, 'lists')).stdout.trim(), 'out.txt');
      },
    },
    {
      id: 'files.names',
      title: 'A name that leads out of the folder is refused.',
      async check({ service, expect }) {
        for (const name of ['../in.txt', '..', '/tmp/in.txt', 'a/../../in.txt', ''])
          expect.true(`the name "${name}" is refused`, await rejects(service.writeFile({ ...IN, name }, NEVER)));
      },
    },
    {
      id: 'sandbox.apart',
      title: 'Two sandboxes do not see the files of each other.',
      async check(subject) {
        const { service, expect } = subject;
        const other = await subject.another();
        try {
          await service.writeFile(IN, NEVER);
          await expectNoFiles(expect, other);
        } finally {
          await other.close();
        }
      },
    },
    {
      id: 'close.twice',
      title: 'A closed sandbox rejects every call, and closing it again does nothing.',
      async check({ service, expect }) {
        await service.close();
        await expect.fulfils('closing it again', service.close());
        expect.true('a program is refused', await rejects(run(service, 'prints')));
        expect.true('a file is refused', await rejects(service.writeFile(IN, NEVER)));
        expect.true('reading is refused', await rejects(service.readFiles(NEVER)));
      },
    },
  ];
}

async function expectNoFiles(expect: Expect, sandbox: CodeSandbox): Promise<void> {
  expect.same('the files of the other one', (await sandbox.readFiles(NEVER)).length, 0);
}

function rejects(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => false,
    () => true,
  );
}
