import type { Event } from './event.ts';

/**
 * An event under trpc-agent-go's names: `invocationId` is the agent execution, `requestId` the whole request. The ADK's id is
 * kept as `rootInvocationId`, so that nothing is lost.
 */
export interface ExecutionView extends Event {
  readonly requestId: string;
  readonly parentInvocationId?: string;
  readonly rootInvocationId: string;
}

/** The event in that view; `fromExecutionView` undoes it. */
export function toExecutionView(event: Event): ExecutionView {
  return {
    ...event,
    requestId: event.requestId ?? event.invocationId,
    invocationId: event.executionId ?? event.invocationId,
    ...(event.parentExecutionId === undefined ? {} : { parentInvocationId: event.parentExecutionId }),
    rootInvocationId: event.invocationId,
  };
}

/** The event that a view was made of. */
export function fromExecutionView(view: ExecutionView): Event {
  const { requestId, parentInvocationId: _parent, rootInvocationId, ...event } = view;
  return { ...event, invocationId: rootInvocationId, ...(requestId === rootInvocationId ? {} : { requestId }) };
}

/** One agent execution: its own events in order, and the executions it started. */
export interface ExecutionNode {
  readonly executionId: string;
  readonly events: Event[];
  readonly children: ExecutionNode[];
}

/** One request and the executions at its root. */
export interface RequestNode {
  readonly requestId: string;
  readonly invocationId: string;
  readonly executions: ExecutionNode[];
}

/**
 * The call tree of a list of events: requests in order of appearance, in each the executions that nobody in the list started,
 * below each the ones that it started. Every event is in exactly one node.
 */
export function groupByExecution(events: Iterable<Event>): RequestNode[] {
  const requests = new Map<string, RequestNode>();
  const nodes = new Map<string, ExecutionNode>();
  const parents = new Map<ExecutionNode, { readonly request: RequestNode; readonly parentId: string | undefined }>();
  for (const event of events) {
    let request = requests.get(event.invocationId);
    if (!request) {
      request = { requestId: event.requestId ?? event.invocationId, invocationId: event.invocationId, executions: [] };
      requests.set(event.invocationId, request);
    }
    const executionId = event.executionId ?? event.invocationId;
    let node = nodes.get(executionId);
    if (!node) {
      node = { executionId, events: [], children: [] };
      nodes.set(executionId, node);
      parents.set(node, { request, parentId: event.parentExecutionId });
    }
    node.events.push(event);
  }
  for (const [node, { request, parentId }] of parents) {
    const parent = parentId === undefined ? undefined : nodes.get(parentId);
    (parent && parent !== node ? parent.children : request.executions).push(node);
  }
  return [...requests.values()];
}
