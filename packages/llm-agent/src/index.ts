// The agent whose work is done by a language model.

export { isLlmAgent, LlmAgent, LlmAgent as Agent } from './llm-agent.ts';
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
export { injectSessionState } from './instruction-template.ts';
export { SET_MODEL_RESPONSE } from './set-model-response-tool.ts';
