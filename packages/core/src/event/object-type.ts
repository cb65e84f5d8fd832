import type { Event } from './event.ts';

/** The values of `event.object` that this project writes. The set is open: others pass through. */
export const ObjectType = {
  error: 'error',
  chatCompletion: 'chat.completion',
  chatCompletionChunk: 'chat.completion.chunk',
  toolResponse: 'tool.response',
  agentTransfer: 'agent.transfer',
  codeExecution: 'postprocessing.code_execution',
  graphNodeCustom: 'graph.node.custom',
  graphNodeStart: 'graph.node.start',
  graphNodeComplete: 'graph.node.complete',
  graphNodeError: 'graph.node.error',
  runnerCompletion: 'runner.completion',
  runnerEnd: 'runner.end',
} as const;

/** The event's kind, derived where the event does not say it. */
export function objectTypeOf(event: Event): string {
  if (event.object !== undefined) return event.object;
  if (event.errorCode !== undefined || event.error !== undefined) return ObjectType.error;
  if (event.content?.parts?.some((part) => part.functionResponse)) return ObjectType.toolResponse;
  return event.partial === true ? ObjectType.chatCompletionChunk : ObjectType.chatCompletion;
}
