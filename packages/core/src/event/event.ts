import type { ErrorInfo, LlmResponse } from '../model/llm-response.ts';
import type { EventActions } from './event-actions.ts';
import { contentText } from '../content/content.ts';

/**
 * The one thing that flows: user input, model output, tool calls and results, state changes, control signals, errors.
 *
 * A plain JSON object. It survives JSON, `structuredClone`, a Durable Object call and a WebSocket unchanged; it is never
 * modified once it was yielded. On the wire absent optionals are omitted, and both deltas of `actions` are always there.
 */
export interface Event extends Readonly<LlmResponse> {
  /** Unique, of partial events too. Empty until the runner fills it in. */
  readonly id: string;
  /** One for everything a single user request sets off: `e-` and a uuid. */
  readonly invocationId: string;
  /** `user`, or the agent's name; a graph node's id for node events. Never `model`. */
  readonly author: string;
  /** Seconds since the epoch, fractional. */
  readonly timestamp: number;
  readonly actions: EventActions;
  /** Path of agent names (`parent.child`) for parallel branches: an agent sees its own branch and its ancestors'. */
  readonly branch?: string;
  /** Ids of the calls in this event whose result comes later. */
  readonly longRunningToolIds?: readonly string[];
  /** The caller's own id for the request; absent means the invocation id. */
  readonly requestId?: string;
  /** One per agent execution; the root's equals the invocation id. */
  readonly executionId?: string;
  /** The execution that started this one; when that one says nothing itself, the nearest one above it that does. */
  readonly parentExecutionId?: string;
  /** The kind of the event, an open set: see `ObjectType`. */
  readonly object?: string;
  readonly tags?: readonly string[];
  readonly nodeEvent?: NodeEvent;
  readonly error?: ErrorInfo;
  /** A typed value in memory; it never reaches the wire. */
  readonly [STRUCTURED_OUTPUT]?: unknown;
}

/** A graph node speaking while it runs. */
export interface NodeEvent {
  readonly eventType: string;
  readonly category: 'custom' | 'progress' | 'text';
  readonly nodeId: string;
  readonly payload?: unknown;
  /** 0 to 100. */
  readonly progress?: number;
  readonly message?: string;
  readonly stepNumber?: number;
}

/** The key of an event's structured output: a symbol, so that neither JSON nor `structuredClone` carries it. */
export const STRUCTURED_OUTPUT: unique symbol = Symbol.for('eventloom.structuredOutput') as never;

/** The value parsed from the model's answer by `outputSchema`, when the event is fresh from the run that made it. */
export function getStructuredOutput(event: Event): unknown {
  return event[STRUCTURED_OUTPUT];
}

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

/** The text of an event without its thoughts, parts joined as they are. Empty when it has none. */
export function stringifyContent(event: Event): string {
  return contentText(event.content);
}
