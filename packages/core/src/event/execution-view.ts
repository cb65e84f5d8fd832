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

/** Converts an event to the execution view. `fromExecutionView` is the inverse. */
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

/** Converts an execution view back to the event. */
export function fromExecutionView(view: ExecutionView): Event {
  const { requestId, parentInvocationId: _parent, rootInvocationId, ownRequestId, ...event } = view;
  const isNamed = requestId !== rootInvocationId || ownRequestId !== undefined;
  return { ...event, invocationId: rootInvocationId, ...(isNamed ? { requestId } : {}) };
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
 * Groups events into call trees: requests in order of appearance, each with its root executions, each with the executions that it
 * started. An execution whose parent is not in the list is a root. Every event is in exactly one node, even if events contradict
 * each other: an execution that would be its own ancestor is a root.
 */
export function groupByExecution(events: Iterable<Event>): RequestNode[] {
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
  // What has no children yet, which is nearly everything, can only be the entry itself.
  if (ancestor.node.children.length === 0) return entry === ancestor;
  for (let at: Entry | undefined = entry; at; at = at.parent) if (at === ancestor) return true;
  return false;
}
