import { describeKind } from '../content/json.ts';
import { InvalidRequestError } from '../errors.ts';
import type { Event } from './event.ts';

/**
 * An event with the names of trpc-agent-go: `invocationId` is the id of the agent execution, `requestId` that of the whole
 * request. The ADK's invocation id is `rootInvocationId`.
 */
export interface ExecutionView extends Event {
  readonly requestId: string;
  readonly parentInvocationId?: string;
  readonly rootInvocationId: string;
  /** The `requestId` of an event that names its own invocation as its request; other events have none here. */
  readonly ownRequestId?: string;
}

/**
 * Renames the ids of an event for readers that expect those of trpc-agent-go, where each execution of an agent has its own invocation id.
 * In the result `invocationId` is the id of the agent's execution, `parentInvocationId` that of the execution that started it,
 * `requestId` that of the whole request, and `rootInvocationId` the ADK's invocation id. All other fields stay.
 */
export function toExecutionView(event: Event): ExecutionView {
  return {
    ...event,
    requestId: event.requestId ?? event.invocationId,
    invocationId: event.executionId ?? event.invocationId,
    ...(event.parentExecutionId === undefined ? {} : { parentInvocationId: event.parentExecutionId }),
    rootInvocationId: event.invocationId,
    ...(event.requestId === event.invocationId ? { ownRequestId: event.requestId } : {}),
  };
}

/** One agent execution: its own events in order, and the executions that it started. */
export interface ExecutionNode {
  readonly executionId: string;
  readonly events: Event[];
  readonly children: ExecutionNode[];
}

/** One request and its root executions. */
export interface RequestNode {
  readonly requestId: string;
  readonly invocationId: string;
  readonly executions: ExecutionNode[];
}

/** An execution while the tree is built. */
interface Entry {
  readonly node: ExecutionNode;
  /** The parent execution that its events name. */
  parentId: string | undefined;
  /** The entry that it was added to. */
  parent?: Entry;
}

/**
 * Arranges events as trees that show which agent started which. The result has one entry for each run, in order of appearance. Its
 * `executions` are the agents that the run started, each with its own `events` and with `children`: the agents that it started in turn.
 *
 * Every event is in exactly one place. An agent whose parent has no event in the list is at the top of its tree.
 *
 * @example
 * const session = await sessionService.getSession({ appName, userId, sessionId });
 * for (const { executions } of groupByExecution(session?.events ?? [])) {
 *   for (const { events, children } of executions) console.log(events[0]?.author, children.length);
 * }
 */
export function groupByExecution(events: Iterable<Event>): RequestNode[] {
  if (typeof events?.[Symbol.iterator] !== 'function')
    throw new InvalidRequestError(
      `groupByExecution: expected events, got ${describeKind(events)}; write groupByExecution(session.events)`,
    );
  const requests = new Map<string, { readonly root: RequestNode; readonly entries: Map<string, Entry> }>();
  for (const event of events) {
    const { invocationId, executionId = invocationId, requestId = invocationId } = event;
    let request = requests.get(invocationId);
    if (!request) {
      request = { root: { requestId, invocationId, executions: [] }, entries: new Map() };
      requests.set(invocationId, request);
    }
    let entry = request.entries.get(executionId);
    if (!entry) {
      entry = { node: { executionId, events: [], children: [] }, parentId: undefined };
      request.entries.set(executionId, entry);
    }
    entry.node.events.push(event);
    entry.parentId ??= event.parentExecutionId;
  }
  for (const { root, entries } of requests.values()) {
    for (const entry of entries.values()) {
      const parent = entry.parentId === undefined ? undefined : entries.get(entry.parentId);
      if (parent && !isAtOrBelow(parent, entry)) {
        entry.parent = parent;
        parent.node.children.push(entry.node);
      } else {
        root.executions.push(entry.node);
      }
    }
  }
  return Array.from(requests.values(), ({ root }) => root);
}

function isAtOrBelow(entry: Entry, ancestor: Entry): boolean {
  // Nearly all ancestors have no children yet: nothing but the entry itself is then at or below them.
  if (ancestor.node.children.length === 0) return entry === ancestor;
  for (let at: Entry | undefined = entry; at; at = at.parent) if (at === ancestor) return true;
  return false;
}
