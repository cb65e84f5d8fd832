import { enclosureOf, isVisibleOn } from './branch.ts';
import type { Event } from './event.ts';

// What packages other than `adk` need to know of the nodes of ADK workflows.

/** True for an event of a node of an ADK workflow: of its own, or of an agent or a tool that it runs. */
export function isOfWorkflowNode({ nodeInfo }: Event): boolean {
  return nodeInfo?.path !== undefined;
}

/**
 * The key in the `agentState` of an event that only says that a node of an ADK workflow is done. It is no checkpoint of
 * the workflow: agents in other nodes continue where they were.
 */
export const NODE_END = 'nodeEnd';

/**
 * Returns the branch of the node that an event names, above that of the run of an agent in the node; the event's own
 * branch if it has no such segment.
 */
export function branchOfNode({ branch, nodeInfo }: Event): string | undefined {
  if (branch === undefined || nodeInfo?.path === undefined) return branch;
  const run = `@${encodeURIComponent(`${nodeInfo.path}#`).replaceAll('.', '%2E')}`;
  const at = branch.indexOf(run);
  return at < 0 ? branch : branch.slice(0, Math.max(0, branch.lastIndexOf('.', at))) || undefined;
}

/**
 * True if an agent on a branch sees the event, if it also sees what agents in nodes of its workflow said, each on a
 * branch of its own. A node beside other nodes has a branch `node@run` below that of its workflow: it sees the events
 * above it, and agents on the branch of the workflow see its events.
 */
export function isVisibleAcrossNodes(event: Event, branch: string | undefined): boolean {
  const own = branchOfNode(event);
  if (own === undefined || isVisibleOn(own, branch) || branch?.startsWith(`${own}.`)) return true;
  return isVisibleOn(branchAboveNodes(event, own), branch);
}

/**
 * True for an event of a node whose branch has no other segments with an `@` than those of nodes: no agent or workflow
 * around it is called as a tool.
 */
export function isOnNodeBranch(event: Event): boolean {
  return isOfWorkflowNode(event) && enclosureOf(branchAboveNodes(event, event.branch)) === '';
}

/** Returns a branch of an event without the segments of nodes at its end. */
function branchAboveNodes({ nodeInfo }: Event, branch: string | undefined): string | undefined {
  if (branch === undefined || nodeInfo?.path === undefined) return branch;
  // The first name is that of the workflow, which may itself be called as a tool.
  const names = new Set(nodeInfo.path.split('.').slice(1).map(nameInSegment));
  const segments = branch.split('.');
  const end = segments.findLastIndex((segment) => !segment.includes('@') || !names.has(nameInSegment(segment)));
  return segments.slice(0, end + 1).join('.') || undefined;
}

function nameInSegment(segment: string): string {
  return segment.split('@', 1)[0] ?? '';
}
