/** The values of `event.tags` that this project writes. The set is open: users add their own. */
export const EventTag = {
  /** The event holds code that a model wrote to be run. */
  codeExecutionCode: 'code_execution_code',
  /** The event holds what came of running code. */
  codeExecutionResult: 'code_execution_result',
} as const;
