// Parts of LlmAgent that other Eventloom packages build on. Not for users: names here change without notice.

export { effectiveEvents, effectiveHistory } from '../compaction/effective-history.ts';
export { EventsCompactor } from '../compaction/events-compactor.ts';
export { resolveInstruction } from '../instruction-template.ts';
export { endsWithPending } from '../contents/contents-builder.ts';
export { isFrameworkPart, toModelContent, withoutClientId } from '../contents/event-content.ts';
export { missingToolsetsEvent, turnToolsets } from '../turn-toolsets.ts';
export { asksPerson, toToolResponse } from '../tool-response.ts';
export { RunningCalls } from '../running-calls.ts';
export { saveOutput } from '../output.ts';
export { ModelCall, readResponse } from '../model-call.ts';
export { prepareRequest, prepareTools } from '../request.ts';
export { type AgentTurn, createTurn } from '../agent-turn.ts';
export { effectOfAnswers, type AnsweredCalls } from '../answered-calls.ts';
export { LLM_AGENT_OPTIONS } from '../llm-agent-config.ts';
