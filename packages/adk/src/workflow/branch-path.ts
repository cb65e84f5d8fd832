import { requireArgument, requireOptions } from '../check-arguments.ts';

/** A branch of a conversation as the list of its segments. */
export class BranchPath {
  readonly #segments: readonly string[];

  /** @throws ConfigurationError for a value that is not a list */
  constructor(segments: readonly string[]) {
    requireArgument(Array.isArray(segments), 'BranchPath', 'a list of segments', segments, "new BranchPath(['root'])");
    this.#segments = [...segments];
  }

  getSegments(): string[] {
    return [...this.#segments];
  }

  /** Returns true for a path below `ancestor`. */
  isDescendantOf(ancestor: BranchPath): boolean {
    const above = ancestor.getSegments();
    return this.#segments.length > above.length && above.every((segment, at) => segment === this.#segments[at]);
  }

  /** Returns the path with one more segment: `name@runId`, or `name`. */
  append(name: string, runId?: string): BranchPath {
    return new BranchPath([...this.#segments, runId === undefined ? name : `${name}@${runId}`]);
  }

  toString(): string {
    return this.#segments.join('.');
  }
}

/** Returns the branch below another one. */
export function createSubBranch(
  baseBranch: string | undefined,
  segment: { readonly name: string; readonly runId?: string | undefined },
): string {
  requireOptions('createSubBranch', segment, "createSubBranch(branch, { name: 'work' })");
  return toPath(baseBranch).append(segment.name, segment.runId).toString();
}

/** Returns the longest branch that all given ones begin with; empty if there is none. */
export function commonPrefixOf(branches: readonly string[]): string {
  requireArgument(
    Array.isArray(branches),
    'commonPrefixOf',
    'a list of branches',
    branches,
    "commonPrefixOf(['a.b', 'a.c'])",
  );
  const [first = [], ...others] = branches.map((branch) => toPath(branch).getSegments());
  const end = first.findIndex((segment, at) => others.some((other) => other[at] !== segment));
  return first.slice(0, end < 0 ? first.length : end).join('.');
}

function toPath(branch: string | undefined): BranchPath {
  return new BranchPath(branch ? branch.split('.') : []);
}
