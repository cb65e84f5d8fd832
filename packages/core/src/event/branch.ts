/** A branch below another: `parent.name`. */
export function branchBelow(branch: string | undefined, name: string): string {
  return branch ? `${branch}.${name}` : name;
}

/**
 * The branch of an agent that is called as a tool: a segment `agent@callId`, which encloses all below it. The id is escaped, so
 * that it is one segment whatever a model calls its calls.
 */
export function enclosedBranch(branch: string | undefined, agentName: string, callId: string): string {
  return branchBelow(branch, `${agentName}@${encodeURIComponent(callId).replaceAll('.', '%2E')}`);
}

/** The enclosure that a branch is in: the branch up to its last segment with an `@`; empty for a branch that is in none. */
export function enclosureOf(branch: string | undefined): string {
  const at = branch?.lastIndexOf('@') ?? -1;
  if (branch === undefined || at < 0) return '';
  const end = branch.indexOf('.', at);
  return end < 0 ? branch : branch.slice(0, end);
}

/**
 * True when an event of one branch is seen from another. Both must be in the same enclosure: what an agent does that is called as
 * a tool is seen by nobody else, and it sees nothing else. Within it: equal, an ancestor by whole segments, or either side at
 * the top.
 */
export function isVisibleOn(eventBranch: string | undefined, branch: string | undefined): boolean {
  if (eventBranch === branch) return true;
  const enclosure = enclosureOf(eventBranch);
  if (enclosure !== enclosureOf(branch)) return false;
  if ((eventBranch ?? '') === enclosure || (branch ?? '') === enclosure) return true;
  return branch?.startsWith(`${eventBranch}.`) ?? false;
}
