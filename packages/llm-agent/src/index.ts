// The agent whose work is done by a language model.

// Agents and their callbacks
export { LlmAgent } from './llm-agent.ts';
export { isLlmAgent } from './llm-agent-config.ts';
export type {
  AfterModelCallback,
  AfterToolCallback,
  BeforeModelCallback,
  BeforeToolCallback,
  InstructionProvider,
  LlmAgentConfig,
  OnModelErrorCallback,
  OnToolErrorCallback,
  SingleAfterModelCallback,
  SingleAfterToolCallback,
  SingleBeforeModelCallback,
  SingleBeforeToolCallback,
  SingleModelErrorCallback,
  SingleToolErrorCallback,
  ToolUnion,
} from './llm-agent-config.ts';

// Planning and code
export { BuiltInCodeExecutor } from './code-execution/built-in-code-executor.ts';
export type {
  CodeSandbox,
  SandboxCodeExecutorOptions,
  SandboxProgram,
  SandboxResult,
} from './code-execution/sandbox-code-executor.ts';
export { SandboxCodeExecutor } from './code-execution/sandbox-code-executor.ts';

// Models
export type { FallbackModelOptions } from './fallback-model.ts';
export { FallbackModel } from './fallback-model.ts';

// Compaction
export type { SummarizeEventsRequest } from './compaction/base-events-summarizer.ts';
export { BaseEventsSummarizer, createCompactionEvent } from './compaction/base-events-summarizer.ts';
export type { EventsCompactionConfig } from './compaction/events-compactor.ts';
export type { LlmEventSummarizerOptions } from './compaction/llm-event-summarizer.ts';
export { LlmEventSummarizer } from './compaction/llm-event-summarizer.ts';

// Planning and code
export { BuiltInPlanner, PlanReActPlanner } from './planners.ts';

// Agents and their callbacks
export { injectSessionState } from './instruction-template.ts';
