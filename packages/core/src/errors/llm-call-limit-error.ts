import { EventloomError } from './eventloom-error.ts';

/** The run asked for more model calls than `runConfig.maxLlmCalls` allows. */
export class LlmCallLimitError extends EventloomError {
  static override readonly code = 'LLM_CALL_LIMIT';
}
