// Parts of LlmAgent that other Eventloom packages build on. Not for users: names here change without notice.

export { effectiveEvents, effectiveHistory } from '../compaction/effective-history.ts';
export { EventsCompactor } from '../compaction/events-compactor.ts';
export { endsWithPending } from '../contents/contents-builder.ts';
export { isFrameworkPart, withoutClientId } from '../contents/event-content.ts';
export type { AgentTurn } from '../agent-turn.ts';
export { missingToolsetsEvent } from '../turn-toolsets.ts';
export { asksPerson } from '../tool-call.ts';
export { EmittedEvents, startCalls } from '../tool-calls.ts';
export { saveOutput } from '../output.ts';
export { ModelCall, ModelReply } from '../reply.ts';
export { prepareRequest, prepareTools } from '../request.ts';
export { resolveModel } from '../agent-turn.ts';
export { answersTo, type ResumedCalls } from '../resume.ts';
