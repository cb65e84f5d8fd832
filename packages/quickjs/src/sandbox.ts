import { type CodeExecutionOutput, type CodeFile, decodeBase64, toError } from '@eventloom/core';
import type { QuickJSContext, QuickJSHandle, QuickJSRuntime, QuickJSWASMModule } from 'quickjs-emscripten-core';
import { CONSOLE_SCRIPT } from './console-script.ts';
import type { QuickJsBounds } from './quickjs-bounds.ts';
import type { Watch } from './watch.ts';

/** The engine's flag for a script that may `await` at its top level: its result is a promise of `{value}`. */
const EVAL_ASYNC = 1 << 7;
/** Number of promise jobs between two checks of the limits. */
const JOBS_AT_ONCE = 1_000;
/** The error text for null, which the engine throws if it has no memory for an error object. */
const NULL_ERROR = 'null, as it is thrown when the engine is out of memory';
/** Stack lines that do not belong to the code. */
const OWN_FRAMES = /^ *at .*\(console\.js:\d+:\d+\)\n?/gm;
const WAITS_FOREVER = 'The code awaits a promise that nothing can resolve: there are no timers and no network.';

/** One execution in its own engine. Its values are never disposed of, because the engine is dropped with them. */
export class Sandbox {
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #bounds: Required<QuickJsBounds>;
  readonly #watch: Watch;
  readonly #output: OutputBuffer;
  #show: QuickJSHandle | undefined;

  constructor(engine: QuickJSWASMModule, bounds: Required<QuickJsBounds>, watch: Watch) {
    this.#bounds = bounds;
    this.#output = new OutputBuffer(bounds.maxOutputChars);
    this.#runtime = engine.newRuntime();
    this.#context = this.#runtime.newContext();
    this.#watch = watch;
  }

  run(code: string, inputFiles: readonly CodeFile[]): CodeExecutionOutput {
    const runtime = this.#runtime;
    try {
      this.#provideConsole();
      this.#provideFiles(inputFiles);
      runtime.setMaxStackSize(this.#bounds.stackBytes);
      runtime.setInterruptHandler(() => this.#watch.check());
      this.#watch.start();
      return this.#finish(this.#evaluate(code));
    } catch (error) {
      // The engine failed because it exhausted the host's stack, its memory or its time. It is not used again.
      return this.#finish({ failure: this.#watch.stopped ?? `The code was stopped: ${toError(error).message}` });
    }
  }

  #provideConsole(): void {
    const context = this.#context;
    const write = context.newFunction('write', (stream, text) => {
      if (this.#output.isFull) return;
      this.#output.write(context.getString(stream) === 'stderr' ? 'stderr' : 'stdout', context.getString(text));
    });
    const provide = context.unwrapResult(context.evalCode(CONSOLE_SCRIPT, 'console.js'));
    this.#show = context.unwrapResult(context.callFunction(provide, context.undefined, write));
  }

  #provideFiles(inputFiles: readonly CodeFile[]): void {
    const context = this.#context;
    const files = context.newObject();
    for (const file of inputFiles) {
      context.defineProp(files, file.name, { value: context.newString(fileText(file)), enumerable: true });
    }
    context.setProp(context.global, 'files', files);
  }

  /** Runs the code and its remaining promise jobs. */
  #evaluate(code: string): SandboxEnding {
    const context = this.#context;
    const started = context.evalCode(code, 'code.js', EVAL_ASYNC);
    if (started.error) return this.#failed(started.error);
    while (this.#runtime.hasPendingJob() && !this.#watch.check()) {
      const ran = this.#runtime.executePendingJobs(JOBS_AT_ONCE);
      if (ran.error) return this.#failed(ran.error);
    }
    const script = context.getPromiseState(started.value);
    if (script.type === 'rejected') return this.#failed(script.error);
    if (script.type === 'pending') return { failure: this.#watch.stopped ?? WAITS_FOREVER };
    // A script that ends with `main()` works like one that awaits it.
    const last = context.getPromiseState(context.getProp(script.value, 'value'));
    if (last.type === 'rejected') return this.#failed(last.error);
    if (last.type === 'pending') return { failure: this.#watch.stopped ?? WAITS_FOREVER };
    const isSilent = this.#output.stdout === '' && this.#output.stderr === '';
    const shown = isSilent && context.typeof(last.value) !== 'undefined' ? this.#shown(last.value) : undefined;
    return this.#watch.stopped === undefined ? { shown } : { failure: this.#watch.stopped };
  }

  #failed(error: QuickJSHandle): SandboxEnding {
    const context = this.#context;
    if (this.#watch.stopped === undefined) {
      const shown = context.sameValue(error, context.null)
        ? NULL_ERROR
        : (this.#shown(error) ?? 'error that cannot be shown');
      // Converting the error to text runs code of the script too.
      return { failure: this.#watch.stopped ?? `Uncaught ${shown}` };
    }
    const stack = context.typeof(error) === 'object' ? context.getProp(error, 'stack') : context.undefined;
    const where = context.typeof(stack) === 'string' ? `\n${context.getString(stack)}` : '';
    return { failure: `${this.#watch.stopped}${where}` };
  }

  /** Returns the value as text; undefined if the conversion fails. */
  #shown(value: QuickJSHandle): string | undefined {
    if (!this.#show) return undefined;
    const shown = this.#context.callFunction(this.#show, this.#context.undefined, value);
    return shown.error ? undefined : this.#context.getString(shown.value);
  }

  #finish({ failure, shown }: SandboxEnding): CodeExecutionOutput {
    const output = this.#output;
    if (shown !== undefined) output.write('stdout', shown);
    if (failure === undefined) return { stdout: output.stdout, stderr: output.stderr, outcome: 'OUTCOME_OK' };
    const reason = failure.slice(0, this.#bounds.maxOutputChars).replace(OWN_FRAMES, '').trimEnd();
    const outcome = this.#watch.stopped === undefined ? 'OUTCOME_FAILED' : 'OUTCOME_DEADLINE_EXCEEDED';
    return { stdout: output.stdout, stderr: `${output.stderr}${reason}\n`, outcome };
  }
}

/** The result of running the code. */
interface SandboxEnding {
  readonly failure?: string | undefined;
  /** The value of the last expression, if nothing was printed. */
  readonly shown?: string | undefined;
}

const TEXT = /^text\/|\b(?:json|xml|yaml|csv|javascript)$/;

/** Returns the content of a text file as text, and of any other file as base64. */
function fileText({ content, mimeType }: CodeFile): string {
  const [type = ''] = mimeType.split(';');
  return TEXT.test(type.trim()) ? new TextDecoder().decode(decodeBase64(content)) : content;
}

/** Collects the output of the code, up to a number of characters. */
class OutputBuffer {
  #left: number;
  #stdout = '';
  #stderr = '';

  constructor(maxChars: number) {
    this.#left = maxChars;
  }

  get stdout(): string {
    return this.#stdout;
  }

  /** True if output was dropped; all further output is dropped too. */
  get isFull(): boolean {
    return this.#left < 0;
  }

  /** The collected stderr, with a note if output was dropped. */
  get stderr(): string {
    return this.isFull ? `${this.#stderr}The output was truncated here.\n` : this.#stderr;
  }

  write(stream: 'stdout' | 'stderr', line: string): void {
    if (this.isFull) return;
    const text = `${line}\n`.slice(0, this.#left);
    const isWhole = text.length === line.length + 1;
    this.#left = isWhole ? this.#left - text.length : -1;
    if (stream === 'stdout') this.#stdout += text;
    else this.#stderr += isWhole || text === '' ? text : `${text}\n`;
  }
}
