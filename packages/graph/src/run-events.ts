import type { Event } from '@eventloom/core';
import { isInput } from '@eventloom/core/internal';

/** A range of the events of one invocation, by index. */
export interface Stretch {
  readonly from: number;
  /** Index after the last event of the range. */
  readonly to: number;
}

/** The events of one invocation, indexed by execution and branch. */
export class RunEvents {
  readonly all: readonly Event[];
  readonly #byExecution = new Map<string, number[]>();
  readonly #byPlace = new Map<string, number[]>();

  constructor(events: readonly Event[], invocationId: string) {
    this.all = events.filter((event) => event.invocationId === invocationId);
    for (const [index, { executionId = '', branch = '' }] of this.all.entries()) {
      note(this.#byExecution, executionId, index);
      note(this.#byPlace, placeOf(branch), index);
    }
  }

  /** Returns the events of agents in one execution, in order. */
  ofExecution(executionId: string, stretch: Stretch): Event[] {
    return this.#pick(this.#byExecution.get(executionId), stretch).filter((event) => !isInput(event));
  }

  /**
   * Returns the events of agents in one execution, and the events of others in that range that change one of these
   * session-state keys, in order.
   */
  ofExecutionAndKeys(executionId: string, keys: readonly string[], stretch: Stretch): Event[] {
    const changes = ({ actions: { stateDelta, removedState = [] } }: Event): boolean =>
      keys.some((key) => Object.hasOwn(stateDelta, key) || removedState.includes(key));
    return this.all
      .slice(stretch.from, stretch.to)
      .filter((event) => (event.executionId === executionId && !isInput(event)) || changes(event));
  }

  /**
   * Returns the index of the last matching event on the branches of a node's attempts, without inner branches.
   * @param branch the branch of the first attempt
   */
  lastOnBranch(branch: string, { from, to }: Stretch, isSuch: (event: Event) => boolean): number | undefined {
    const indices = this.#byPlace.get(placeOf(branch)) ?? [];
    return indices.slice(lowerBound(indices, from), lowerBound(indices, to)).findLast((index) => {
      const event = this.all[index];
      return event !== undefined && isSuch(event);
    });
  }

  #pick(indices: readonly number[] = [], { from, to }: Stretch): Event[] {
    return indices.slice(lowerBound(indices, from), lowerBound(indices, to)).flatMap((index) => this.all[index] ?? []);
  }
}

/** Returns the branch without the number of the attempt at its end. */
function placeOf(branch: string): string {
  return branch.replace(/!\d+$/, '');
}

function note(indices: Map<string, number[]>, key: string, index: number): void {
  const others = indices.get(key);
  if (others) others.push(index);
  else indices.set(key, [index]);
}

/** Returns the index of the first number that is not smaller than this one. */
function lowerBound(sorted: readonly number[], least: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
