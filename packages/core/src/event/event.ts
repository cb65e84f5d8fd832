import type { ErrorInfo, LlmResponse } from '../model/llm-response.ts';
import type { EventActions } from './event-actions.ts';
import { contentText } from '../content/content.ts';

/**
 * An entry of a session and of a run's stream: user input, model output, tool calls and results, state changes, control
 * signals, errors.
 *
 * A plain JSON object, which passes through JSON, `structuredClone`, a Durable Object call and a WebSocket unchanged. It is
 * never modified after it was yielded. On the wire, absent fields are omitted, and `actions` always has `stateDelta` and
 * `artifactDelta`.
 */
export interface Event extends Readonly<LlmResponse> {
  /** Unique id; partial events have their own. Empty until the runner fills it in. */
  readonly id: string;
  /** Id of the run, shared by all events of one user request: `e-` and a UUID. */
  readonly invocationId: string;
  /** `user`, the agent's name, or, for node events, the graph node's id. Never `model`. */
  readonly author: string;
  /** Seconds since the epoch, fractional. */
  readonly timestamp: number;
  /** Side effects and control signals, applied when the event is committed. */
  readonly actions: EventActions;
  /** Path of agent names (`parent.child`) of a parallel branch. An agent sees the events of its own branch and of its ancestors'. Absent: the main branch. */
  readonly branch?: string;
  /** Ids of the function calls in this event whose result comes in a later message. */
  readonly longRunningToolIds?: readonly string[];
  /** The caller's own id for the request. Absent: the same as the invocation id. */
  readonly requestId?: string;
  /** Id of one execution of an agent. That of the root agent equals the invocation id. */
  readonly executionId?: string;
  /** Id of the execution that started this one, or of its nearest ancestor that has events. Absent for the root agent. */
  readonly parentExecutionId?: string;
  /** Kind of the event: a value of `ObjectType`, or one of another program. See `objectTypeOf` for events without it. */
  readonly object?: string;
  readonly tags?: readonly string[];
  readonly nodeEvent?: NodeEvent;
  readonly error?: ErrorInfo;
  /** The answer parsed by `outputSchema`. In memory only: it is neither stored nor serialised. */
  readonly [STRUCTURED_OUTPUT]?: unknown;
}

/** Progress of a graph node while it runs. */
export interface NodeEvent {
  readonly eventType: string;
  readonly category: 'custom' | 'progress' | 'text';
  readonly nodeId: string;
  readonly payload?: unknown;
  /** Percentage, 0 to 100. */
  readonly progress?: number;
  readonly message?: string;
  readonly stepNumber?: number;
}

/** Key of an event's structured output. It is a symbol, so JSON and `structuredClone` leave the value out. */
export const STRUCTURED_OUTPUT: unique symbol = Symbol.for('eventloom.structuredOutput') as never;

/** Returns the value parsed from the model's answer by `outputSchema`. Undefined for events read from a session: the value is not stored. */
export function getStructuredOutput(event: Event): unknown {
  return event[STRUCTURED_OUTPUT];
}

/** Values of `event.object` that this project writes. Events of other programs may have further values. */
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
  runnerStreamed: 'runner.streamed',
} as const;

/** Returns the event's kind: `object`, or the kind derived from the event's content if `object` is absent. */
export function objectTypeOf(event: Event): string {
  if (event.object !== undefined) return event.object;
  if (event.errorCode !== undefined || event.error !== undefined) return ObjectType.error;
  if (event.content?.parts?.some((part) => part.functionResponse)) return ObjectType.toolResponse;
  return event.partial === true ? ObjectType.chatCompletionChunk : ObjectType.chatCompletion;
}

/** Returns the text parts of an event without thoughts, joined without a separator. Empty if it has none. */
export function stringifyContent(event: Event): string {
  return contentText(event.content);
}
