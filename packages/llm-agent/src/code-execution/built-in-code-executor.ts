import {
  BaseCodeExecutor,
  type CodeExecutionOutput,
  type CodeExecutorProcessLlmRequest,
  ConfigurationError,
} from '@eventloom/core';

/** Gemini 2 and later, by number or by the name of the latest, in any form that the services take (`models/…`, `projects/…`). */
const GEMINI_2 = /(?:^|\/)gemini-(?:[2-9]|[1-9]\d|[a-z-]+-latest$)/;

/**
 * Lets the model's own service run the code: Gemini 2 and later. Code and results come as parts of the reply; their events carry the
 * same tags as with other executors.
 */
export class BuiltInCodeExecutor extends BaseCodeExecutor {
  constructor() {
    super({ codeBlockDelimiters: [] });
  }

  /** Adds the code execution tool. @throws ConfigurationError for a model that runs no code */
  override processLlmRequest({ llmRequest }: CodeExecutorProcessLlmRequest): void {
    const { model = '', config } = llmRequest;
    if (!GEMINI_2.test(model))
      throw new ConfigurationError(
        `model "${model}" runs no code: BuiltInCodeExecutor needs Gemini 2 or later; give the agent another codeExecutor`,
      );
    config.tools = [...(config.tools ?? []), { codeExecution: {} }];
  }

  override get runsInModel(): boolean {
    return true;
  }

  override executeCode(): Promise<CodeExecutionOutput> {
    return Promise.reject(new ConfigurationError('BuiltInCodeExecutor runs no code: the model does'));
  }
}
