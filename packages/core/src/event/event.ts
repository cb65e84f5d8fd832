import type { ErrorInfo, LlmResponse } from '../model/llm-response.ts';
import type { EventActions } from './event-actions.ts';
import { contentText } from '../content/content.ts';
import { describeKind, isRecord } from '../content/json.ts';
import { InvalidEventError } from '../errors.ts';

/**
 * One step of a conversation. A run yields events, and a session is a list of them: the user's message, the model's text, a function call,
 * its response, a change of state, an error.
 *
 * The message of an event is in `content.parts`, and its effects are in `actions`. `isFinalResponse`,
 * `getFunctionCalls` and `stringifyContent` read them. With `streamingMode: 'sse'` chunks come as events with
 * `partial: true`; show them, or the whole event that follows them, not both.
 *
 * An event is plain JSON: it passes through `JSON.stringify` and `structuredClone` unchanged. It does not change after it was yielded.
 */
export interface Event extends Readonly<LlmResponse> {
  /** Unique id; each chunk has its own. Empty until the runner fills it in. */
  readonly id: string;
  /** Id of the run: the same for all events that one message of the user causes. `e-` and a UUID version 7. */
  readonly invocationId: string;
  /** The speaker: `user`, or the name of the agent, or of the graph node that reports progress. Never `model`. */
  readonly author: string;
  /** Seconds since the epoch, fractional. */
  readonly timestamp: number;
  /** Changes of state, saved files, and signals such as a transfer. They take effect when the event is stored. */
  readonly actions: EventActions;
  /**
   * The branch of the conversation that the event belongs to, as a path of agent names: `research.prices` for the sub-agent `prices` of
   * the ParallelAgent `research`. Agents of one branch do not see events of another. Absent: all agents see the event.
   */
  readonly branch?: string;
  /** Ids of the function calls in this event whose responses the client sends in a later message. Absent: none. */
  readonly longRunningToolIds?: readonly string[];
  /** The id that the caller gave its request (`requestId` of `runAsync`). Absent: it gave none. */
  readonly requestId?: string;
  /** Id of one execution of an agent; an agent that runs twice in a run has two. That of the first agent equals the invocation id. */
  readonly executionId?: string;
  /** Id of the execution that started this one: with `executionId`, the events form a call tree. Absent for the first agent. */
  readonly parentExecutionId?: string;
  /** Kind of the event: a value of `ObjectType`, or one of another program. `objectTypeOf` returns it for events without it, too. */
  readonly object?: string;
  /** Labels: values of `EventTag`, and those of the application. Absent: none. */
  readonly tags?: readonly string[];
  /** Progress of a graph node. Absent in other events. */
  readonly nodeEvent?: NodeEvent;
  /** Details of an error, beside `errorCode` and `errorMessage`. Absent in other events. */
  readonly error?: ErrorInfo;
  /** The result of an agent with `mode`, or of a node of another ADK, as JSON. */
  readonly output?: unknown;
  /** The routes that a workflow follows after the node that the event comes from. (ADK 2 for JavaScript.) */
  readonly route?: boolean | number | string | readonly (boolean | number | string)[];
  /** The workflow node that the event comes from. (ADK 2, `node_info`.) */
  readonly nodeInfo?: NodeInfo;
  /** Scope of the event: only agents with the same `isolationScope` see it. Absent: every agent does. (ADK 2, `isolation_scope`.) */
  readonly isolationScope?: string;
  /** The answer parsed by `outputSchema`. In memory only: it is neither stored nor serialised. */
  readonly [STRUCTURED_OUTPUT]?: unknown;
}

/** A workflow node, as ADK 2 names it. */
export interface NodeInfo {
  readonly path?: string;
  /** Paths of the nodes whose result `output` is. */
  readonly outputFor?: readonly string[];
  /** True if the content of the event is the node's output as well. */
  readonly messageAsOutput?: boolean;
}

/** Progress that a graph node reports while it runs, with `context.emitCustom`, `emitProgress` or `emitText`. Streamed, not stored. */
export interface NodeEvent {
  /** Name that the node gave the report; the category for progress and text. */
  readonly eventType: string;
  /** Kind of the report: of `emitCustom`, `emitProgress` or `emitText`. */
  readonly category: 'custom' | 'progress' | 'text';
  /** Name of the node. */
  readonly nodeId: string;
  /** JSON data of `emitCustom`. */
  readonly payload?: unknown;
  /** Percentage of `emitProgress`, 0 to 100. */
  readonly progress?: number;
  /** Text of `emitProgress` or `emitText`. */
  readonly message?: string;
  /** Number of the graph's step, from 1. */
  readonly stepNumber?: number;
}

/** Key of an event's structured output. It is a symbol, so JSON and `structuredClone` leave the value out. */
export const STRUCTURED_OUTPUT: unique symbol = Symbol.for('eventloom.structuredOutput') as never;

/**
 * Returns the value parsed from the model's answer by `outputSchema`. Undefined for events read from a session: the
 * value is not stored.
 */
export function getStructuredOutput(event: Event): unknown {
  if (!isRecord(event)) throw notAnEvent('getStructuredOutput', event);
  return event[STRUCTURED_OUTPUT];
}

/** Values of `event.object` that Eventloom writes. Events of other programs may have further values. */
export const ObjectType = {
  error: 'error',
  chatCompletion: 'chat.completion',
  chatCompletionChunk: 'chat.completion.chunk',
  toolResponse: 'tool.response',
  /** The request to an agent that runs as a tool or a node, by the agent that made it. */
  agentInput: 'agent.input',
  agentTransfer: 'agent.transfer',
  /** Changes of state and missing toolsets, found while the request to a model was prepared. */
  preprocessingTools: 'preprocessing.tools',
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
  if (!isRecord(event)) throw notAnEvent('objectTypeOf', event);
  if (event.object !== undefined) return event.object;
  if (event.errorCode !== undefined || event.error !== undefined) return ObjectType.error;
  if (event.content?.parts?.some((part) => part.functionResponse)) return ObjectType.toolResponse;
  return event.partial === true ? ObjectType.chatCompletionChunk : ObjectType.chatCompletion;
}

/**
 * Returns the text parts of an event without thoughts, joined without a separator. Empty if it has none.
 * @throws InvalidEventError for a value that is not an event, such as a content: `contentText` takes that
 */
export function stringifyContent(event: Event): string {
  if (!isRecord(event)) throw notAnEvent('stringifyContent', event);
  if (event.content === undefined && 'parts' in event)
    throw new InvalidEventError('stringifyContent: expected an event, got a content; write contentText(content)');
  return contentText(event.content);
}

/** Creates the error for a function that was called with a value that is not an event. */
export function notAnEvent(caller: string, value: unknown): InvalidEventError {
  return new InvalidEventError(
    `${caller}: expected an event, got ${describeKind(value)}; write ${caller}(event) with an event of a run, or one of createEvent`,
  );
}
