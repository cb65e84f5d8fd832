import {
  BaseCodeExecutor,
  type CodeExecutionOutput,
  type CodeExecutorProcessLlmRequest,
  ConfigurationError,
  type ExecuteCodeParams,
} from '@eventloom/core';

/** Matches Gemini 2 and later, by number or by a `-latest` name, with or without a prefix such as `models/…` or `projects/…`. */
const GEMINI_2 = /(?:^|\/)gemini-(?:[2-9]|[1-9]\d|[a-z-]+-latest$)/;

/**
 * Lets the model's service run the code that the model writes. Requires Gemini 2 or later. Code and results arrive as parts of the reply;
 * their events have the same tags as with other executors.
 */
export class BuiltInCodeExecutor extends BaseCodeExecutor {
  constructor() {
    super({ codeBlockDelimiters: [] });
  }

  /** Adds the code execution tool to the request. @throws ConfigurationError if the model's service cannot run code */
  override processLlmRequest({ llmRequest }: CodeExecutorProcessLlmRequest): void {
    const { model = '', config } = llmRequest;
    if (!GEMINI_2.test(model))
      throw new ConfigurationError(
        `model "${model}" cannot run code: BuiltInCodeExecutor needs Gemini 2 or later; give the agent another codeExecutor`,
      );
    config.tools = [...(config.tools ?? []), { codeExecution: {} }];
  }

  override get runsInModel(): boolean {
    return true;
  }

  override executeCode(_params: ExecuteCodeParams): Promise<CodeExecutionOutput> {
    return Promise.reject(
      new ConfigurationError(
        "BuiltInCodeExecutor.executeCode: the model's service runs the code; do not call executeCode",
      ),
    );
  }
}
