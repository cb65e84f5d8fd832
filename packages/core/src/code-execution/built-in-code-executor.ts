import { ConfigurationError } from '../errors.ts';
import { BaseCodeExecutor, type CodeExecutorProcessLlmRequest } from './base-code-executor.ts';
import type { CodeExecutionOutput } from './code-execution-types.ts';

/** Gemini 2 and later, by number or by the name of the latest, in any form that the services take (`models/…`, `projects/…`). */
const GEMINI_2 = /(?:^|\/)gemini-(?:[2-9]|[1-9]\d|[a-z-]+-latest$)/;

/**
 * Has the model's own service run the code: Gemini 2 and later. Code and results come as parts of the reply and nothing is run
 * here; their events carry the same tags as those of other executors.
 */
export class BuiltInCodeExecutor extends BaseCodeExecutor {
  constructor() {
    super({ codeBlockDelimiters: [] });
  }

  /** Switches code execution on. @throws ConfigurationError for a model that has none */
  override processLlmRequest({ llmRequest }: CodeExecutorProcessLlmRequest): void {
    const { model = '', config } = llmRequest;
    if (!GEMINI_2.test(model))
      throw new ConfigurationError(
        `model "${model}" runs no code: BuiltInCodeExecutor needs Gemini 2 or later; give the agent another codeExecutor`,
      );
    config.tools = [...(config.tools ?? []), { codeExecution: {} }];
  }

  override startRun(): undefined {
    return undefined;
  }

  override executeCode(): Promise<CodeExecutionOutput> {
    return Promise.reject(new ConfigurationError('BuiltInCodeExecutor runs no code: the model does'));
  }
}
