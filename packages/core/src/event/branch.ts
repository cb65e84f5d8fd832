import type { Event } from './event.ts';

/** Returns the name of a branch below another one: `parent.name`. */
export function branchBelow(branch: string | undefined, name: string): string {
  return branch ? `${branch}.${name}` : name;
}

/**
 * Returns the branch of an agent that is called as a tool: one more segment `agent@callId`, which encloses the branches below it.
 * Dots in the call id are escaped, so that it is one segment.
 */
export function enclosedBranch(branch: string | undefined, agentName: string, callId: string): string {
  return branchBelow(branch, `${agentName}@${encodeURIComponent(callId).replaceAll('.', '%2E')}`);
}

/** Returns the enclosure of a branch: the branch up to its last segment with an `@`. Empty if the branch is in no enclosure. */
export function enclosureOf(branch: string | undefined): string {
  const at = branch?.lastIndexOf('@') ?? -1;
  if (branch === undefined || at < 0) return '';
  const end = branch.indexOf('.', at);
  return end < 0 ? branch : branch.slice(0, end);
}

/** Returns the ids of the calls that enclose a branch: of each agent on the way to it that runs as a tool. The outermost is first. */
export function enclosingCallIds(branch: string | undefined): string[] {
  return enclosuresOf(branch).map(({ callId }) => callId);
}

/** Returns the calls that enclose a branch, as `enclosingCallIds`, each with its own branch: the one around the agent that it runs. */
export function enclosuresOf(branch: string | undefined): { readonly callId: string; readonly around: string }[] {
  const segments = branch?.split('.') ?? [];
  return segments.flatMap((segment, index) => {
    const at = segment.indexOf('@');
    if (at < 0) return [];
    return { callId: decodeURIComponent(segment.slice(at + 1)), around: segments.slice(0, index).join('.') };
  });
}

/**
 * Returns the branch of an event within its scope. adk-python also gives a task a branch of its own, `agent@<scope>`, and a task of a task
 * `agent@<scope>.other@<its scope>`. These segments are left out: here a task runs on the branch of the agent that called it. (ADK 2.)
 */
export function branchInScope({ branch, isolationScope }: Event): string | undefined {
  if (branch === undefined || isolationScope === undefined) return branch;
  const segments = branch.split('.');
  if (!segments.some((segment) => segment.endsWith(`@${isolationScope}`))) return branch;
  return segments.filter((segment) => !segment.includes('@')).join('.') || undefined;
}

/**
 * True if an agent on one branch sees the events of another branch. Both must be in the same enclosure, because an agent that is
 * called as a tool sees only its own events, and no other agent sees them. Within an enclosure the event's branch must be the
 * same or an ancestor by whole segments, or one of both must be the top.
 */
export function isVisibleOn(eventBranch: string | undefined, branch: string | undefined): boolean {
  if (eventBranch === branch) return true;
  const enclosure = enclosureOf(eventBranch);
  if (enclosure !== enclosureOf(branch)) return false;
  if ((eventBranch ?? '') === enclosure || (branch ?? '') === enclosure) return true;
  return branch?.startsWith(`${eventBranch}.`) ?? false;
}
