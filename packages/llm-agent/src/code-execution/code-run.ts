import {
  type BaseCodeExecutor,
  CallbackContext,
  type CodeDelimiters,
  type CodeExecutionInput,
  type CodeExecutionOutcome,
  type CodeExecutionOutput,
  type Content,
  type Event,
  EventTag,
  InvalidArtifactNameError,
  type InvocationContext,
  type LlmResponse,
  ObjectType,
  type Part,
} from '@eventloom/core';
import { languageOf, withTag } from '@eventloom/core/internal';
import { inputFilesOf } from './code-contents.ts';

/** Prefix of ids that the runtime gives to code. It marks code that the model's service did not run. */
const ID_PREFIX = 'adk-';

/** Finds and runs the code in an agent's replies during one run. It stops after `errorRetryAttempts` failures in a row. */
export class CodeRun {
  readonly #executor: BaseCodeExecutor;
  readonly #context: InvocationContext;
  #failures = 0;

  constructor(executor: BaseCodeExecutor, context: InvocationContext) {
    this.#executor = executor;
    this.#context = context;
  }

  /** Returns the code of a complete reply. Undefined if the reply has no code or was truncated, or if code failed too often. */
  find({ content, errorCode, finishReason }: LlmResponse): FoundCode | undefined {
    const isWhole = errorCode === undefined && (finishReason === undefined || finishReason === 'STOP');
    if (!isWhole || this.#failures >= this.#executor.errorRetryAttempts) return undefined;
    const id = `${ID_PREFIX}${this.#context.platform.newUuid()}`;
    return findCode(content, this.#executor.codeBlockDelimiters, id);
  }

  /**
   * Runs the code and returns the event with its result. Saves output files as artifacts.
   * @throws RunAbortedError when the run is aborted
   * @throws ConfigurationError if the code wrote files and the runner has no artifact service
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
        // The model chose the name, so it gets the error and can choose another name.
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
      const stderr = `The code was not run: it is in ${language}, but this executor runs only ${executor.languages.join(', ')}.`;
      return { stdout: '', stderr, outcome: 'OUTCOME_FAILED' };
    }
    const { promise: deadline, resolve } = Promise.withResolvers<CodeExecutionOutput>();
    const expiry = new AbortController();
    const cancel = platform.schedule(executor.timeoutMs, () => {
      // Resolve before the abort, because the executor may reject while it handles the abort.
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

/** Creates the code run of an agent. Undefined without an executor, and if the model's service runs the code. */
export function startCodeRun(context: InvocationContext, executor: BaseCodeExecutor | undefined): CodeRun | undefined {
  return executor && !executor.runsInModel ? new CodeRun(executor, context) : undefined;
}

/** Code found in a model's reply, and the part of the reply to keep. */
interface FoundCode {
  /** Id shared by the code part and its result part. */
  readonly id: string;
  readonly code: string;
  /** The language in lower case; empty if unknown. */
  readonly language: string;
  /** The reply up to and including the code, as an `executableCode` part. Later text is dropped: the model wrote it without the result. */
  readonly content: Content;
}

/**
 * Finds the first code of a reply: an `executableCode` part that the model's service did not run, or a delimited block in a text that is
 * not a thought. Empty and unclosed blocks do not count.
 */
export function findCode(
  content: Content | undefined,
  delimiters: readonly CodeDelimiters[],
  id: string,
): FoundCode | undefined {
  const parts = content?.parts ?? [];
  for (const [index, part] of parts.entries()) {
    const given = part.executableCode;
    if (given && !parts[index + 1]?.codeExecutionResult) {
      const kept = [...parts.slice(0, index), { ...part, executableCode: { ...given, id } }];
      const language = languageOf(String(given.language ?? ''));
      return { id, code: given.code ?? '', language, content: { ...content, parts: kept } };
    }
    const block = part.text && part.thought !== true ? firstBlock(part.text, delimiters) : undefined;
    if (!block) continue;
    const { before, code, language } = block;
    const text: Part[] = before.trim() === '' ? [] : [{ text: before }];
    const executableCode = { id, code, language: language.toUpperCase() || 'LANGUAGE_UNSPECIFIED' };
    const kept = [...parts.slice(0, index), ...text, { executableCode }];
    return { id, code, language, content: { ...content, parts: kept } };
  }
  return undefined;
}

interface CodeBlock {
  readonly before: string;
  readonly code: string;
  readonly language: string;
}

/** Finds the first closed block, in linear time: each kind of opening is searched once, and dropped when no closing delimiter follows. */
function firstBlock(text: string, delimiters: readonly CodeDelimiters[]): CodeBlock | undefined {
  const kinds = delimiters.map(([opening, closing]) => ({ opening, closing, at: text.indexOf(opening) }));
  for (;;) {
    const [next] = kinds.filter(({ at }) => at >= 0).toSorted((one, other) => one.at - other.at);
    if (!next) return undefined;
    const { opening, closing, at } = next;
    const start = at + opening.length;
    const end = text.indexOf(closing, start);
    const code = text.slice(start, Math.max(start, end));
    if (code.trim() !== '') return { before: text.slice(0, at), code, language: languageOf(opening) };
    for (const kind of kinds) if (kind.at >= 0 && kind.at < start) kind.at = text.indexOf(kind.opening, start);
    if (end < 0) next.at = -1;
  }
}

/**
 * Returns the event with one tag if it holds code and another if it holds results. If the event ends with code or a result, its `object`
 * becomes `postprocessing.code_execution`.
 */
export function withCodeTags(event: Event): Event {
  const parts = event.content?.parts;
  if (!parts) return event;
  const hasCode = parts.some((part) => part.executableCode);
  const hasResult = parts.some((part) => part.codeExecutionResult);
  if (!hasCode && !hasResult) return event;
  const last = parts.at(-1);
  const isReply = !last?.executableCode && !last?.codeExecutionResult;
  let tagged: Event = isReply ? event : { ...event, object: ObjectType.codeExecution };
  if (hasCode) tagged = withTag(tagged, EventTag.codeExecutionCode);
  if (hasResult) tagged = withTag(tagged, EventTag.codeExecutionResult);
  return tagged;
}
