import type { InvocationContext } from '../context/invocation-context.ts';

/** A file that code reads or writes. */
export interface CodeFile {
  /** A file name such as `sales.csv`; of an output file, the name of the artifact it becomes. */
  readonly name: string;
  /** The bytes as base64. */
  readonly content: string;
  readonly mimeType: string;
}

/** Code to run. */
export interface CodeExecutionInput {
  readonly code: string;
  /** In lower case: `python`, `javascript`, …; empty when nothing says it. */
  readonly language: string;
  /** The files of the message that set the invocation off. */
  readonly inputFiles: readonly CodeFile[];
  /** For an executor that is stateful: the session's id, the same for all code of a session. */
  readonly executionId?: string;
}

/** How code ended, in the words of a `codeExecutionResult` part. */
export type CodeExecutionOutcome = 'OUTCOME_OK' | 'OUTCOME_FAILED' | 'OUTCOME_DEADLINE_EXCEEDED';

/** What came of running code. A failure of the code is a result too. */
export interface CodeExecutionOutput {
  readonly stdout: string;
  readonly stderr: string;
  /** Saved as artifacts of the session. */
  readonly outputFiles?: readonly CodeFile[];
  /** When absent, code that wrote to `stderr` failed. */
  readonly outcome?: CodeExecutionOutcome;
}

/** One execution. */
export interface ExecuteCodeParams {
  readonly invocationContext: InvocationContext;
  readonly codeExecutionInput: CodeExecutionInput;
  /** Fires when the run is aborted or the executor's `timeoutMs` is over: nobody waits for the result any more. */
  readonly abortSignal: AbortSignal;
}

/** What stands before and behind something in a text. */
export type CodeDelimiters = readonly [opening: string, closing: string];
