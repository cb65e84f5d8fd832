import { CallbackContext } from '../context/callback-context.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import { InvalidArtifactNameError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import type { LlmResponse } from '../model/llm-response.ts';
import type { BaseCodeExecutor } from './base-code-executor.ts';
import type { CodeExecutionInput, CodeExecutionOutcome, CodeExecutionOutput } from './code-execution-types.ts';
import { findCode, type FoundCode } from './find-code.ts';
import { inputFilesOf } from './input-files.ts';
import { withCodeTags } from './with-code-tags.ts';

/** Begins the ids that the runtime gives: code with such an id was run here and not by the model's service. */
const ID_PREFIX = 'adk-';

/** The code of one run of an agent: finds it in replies and runs it, until it failed too often in a row. */
export class CodeRun {
  readonly #executor: BaseCodeExecutor;
  readonly #context: InvocationContext;
  #failures = 0;

  constructor(executor: BaseCodeExecutor, context: InvocationContext) {
    this.#executor = executor;
    this.#context = context;
  }

  /** The code of a whole reply that is to be run. */
  find({ content, errorCode, finishReason }: LlmResponse): FoundCode | undefined {
    const isWhole = errorCode === undefined && (finishReason === undefined || finishReason === 'STOP');
    if (!isWhole || this.#failures >= this.#executor.errorRetryAttempts) return undefined;
    const id = `${ID_PREFIX}${this.#context.platform.newUuid()}`;
    return findCode(content, this.#executor.codeBlockDelimiters, id);
  }

  /**
   * Runs the code and gives the event of its result, with the versions of the artifacts that its files became.
   * @throws RunAbortedError when the run is aborted
   * @throws ConfigurationError when files are to be saved and the runner has no artifact service
   */
  async execute(found: FoundCode): Promise<Event> {
    const context = this.#context;
    const callbackContext = new CallbackContext({ invocationContext: context });
    const result = await this.#executeCode(found);
    const lines = [result.stdout.trimEnd(), result.stderr.trimEnd()];
    let outcome: CodeExecutionOutcome = result.outcome ?? (result.stderr === '' ? 'OUTCOME_OK' : 'OUTCOME_FAILED');
    for (const { name, content, mimeType } of result.outputFiles ?? []) {
      try {
        const version = await callbackContext.saveArtifact(name, { inlineData: { data: content, mimeType } });
        lines.push(`Saved the artifact \`${name}\`, version ${version}.`);
      } catch (error) {
        // The name is the model's: let it choose another.
        if (!InvalidArtifactNameError.isInstance(error)) throw error;
        lines.push(error.message);
        outcome = 'OUTCOME_FAILED';
      }
    }
    this.#failures = outcome === 'OUTCOME_OK' ? 0 : this.#failures + 1;
    const output = lines.filter((line) => line !== '').join('\n');
    const codeExecutionResult = { id: found.id, outcome, output };
    return withCodeTags(
      context.createEvent({
        content: { role: 'model', parts: [{ codeExecutionResult }] },
        actions: callbackContext.actions,
      }),
    );
  }

  async #executeCode({ code, language }: FoundCode): Promise<CodeExecutionOutput> {
    const executor = this.#executor;
    const { platform, abortSignal, session, userContent } = this.#context;
    if (language !== '' && executor.languages?.includes(language) === false) {
      const stderr = `The code was not run: it is in ${language}, and what is run here is ${executor.languages.join(', ')}.`;
      return { stdout: '', stderr, outcome: 'OUTCOME_FAILED' };
    }
    const { promise: deadline, resolve } = Promise.withResolvers<CodeExecutionOutput>();
    const expiry = new AbortController();
    const cancel = platform.schedule(executor.timeoutMs, () => {
      // Before the abort: an executor may reject while it is told.
      resolve({
        stdout: '',
        stderr: `No result after ${executor.timeoutMs} ms.`,
        outcome: 'OUTCOME_DEADLINE_EXCEEDED',
      });
      expiry.abort();
    });
    const codeExecutionInput: CodeExecutionInput = {
      code,
      language,
      inputFiles: inputFilesOf(userContent),
      ...(executor.stateful ? { executionId: session.id } : {}),
    };
    try {
      const result = executor.executeCode({
        invocationContext: this.#context,
        codeExecutionInput,
        abortSignal: AbortSignal.any([abortSignal, expiry.signal]),
      });
      return await this.#context.untilAborted(Promise.race([result, deadline]));
    } finally {
      cancel();
    }
  }
}
