/** The values of `event.tags` that this project writes. The set is open: users add their own. */
export const EventTag = {
  /** The event holds code that a model wrote to be run. */
  codeExecutionCode: 'code_execution_code',
  /** The event holds what came of running code. */
  codeExecutionResult: 'code_execution_result',
  /** The event came with a session that was made of given events, and nobody vouches for them: no run goes on with what it says. */
  imported: 'imported',
} as const;
