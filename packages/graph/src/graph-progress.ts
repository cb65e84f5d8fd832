import type { JsonValue } from '@eventloom/core';
import { frozen } from './json-values.ts';
import { type GraphPlan, reachableFrom, targetsIn } from './graph-plan.ts';
import { END, START } from './names.ts';

/** A node to run in a step. */
export interface Task {
  /** Position in the step, from 0. */
  readonly index: number;
  readonly node: string;
  readonly input: JsonValue | undefined;
}

/** The result of a task. */
interface Completion {
  readonly output: JsonValue | undefined;
  readonly next: readonly string[];
}

/** An output that arrived at END. */
export interface Arrival {
  readonly node: string;
  readonly output: JsonValue | undefined;
  readonly step: number;
  readonly index: number;
}

/**
 * The progress of a run of a graph. It is the same whether it is recorded while nodes run or read from the events
 * afterwards.
 */
export class GraphProgress {
  readonly #plan: GraphPlan;
  #step = 0;
  #tasks: readonly Task[];
  #done = new Map<number, Completion>();
  /** Outputs that arrived at each join since its last run, by source node and in order. */
  readonly #joins = new Map<string, Map<string, (JsonValue | undefined)[]>>();
  /** Outputs that arrived at END, in order. */
  readonly arrivals: Arrival[] = [];

  constructor(plan: GraphPlan) {
    this.#plan = plan;
    this.#tasks = [{ index: 0, node: START, input: undefined }];
  }

  /** Number of the current step, from 1; 0 before the first. */
  get step(): number {
    return this.#step;
  }

  /** The tasks of the current step, in order. */
  get tasks(): readonly Task[] {
    return this.#tasks;
  }

  /** The tasks of the current step that are not complete. */
  get openTasks(): readonly Task[] {
    return this.#tasks.filter(({ index }) => !this.#done.has(index));
  }

  get isStepDone(): boolean {
    return this.#tasks.length > 0 && this.#done.size === this.#tasks.length;
  }

  complete(index: number, completion: Completion): void {
    this.#done.set(index, completion);
  }

  /** True if no task is left to run. */
  get isAtEnd(): boolean {
    return this.#tasks.length === 0;
  }

  /** Begins the next step. Call it when all tasks of the current step are complete. */
  advance(): void {
    const next: Omit<Task, 'index'>[] = [];
    for (const { index, node } of this.#tasks) {
      const { output, next: targets = [] } = this.#done.get(index) ?? { output: undefined };
      for (const target of targets) this.#arrive(target, { node, output, step: this.#step, index }, next);
    }
    for (const [name, arrived] of this.#joins)
      if (arrived.size === this.#plan.sources.get(name)?.length) next.push(this.#joined(name, arrived));
    if (next.length === 0) this.#giveUpWaiting(next);
    this.#tasks = next.map((task, index) => ({ index, ...task }));
    this.#done = new Map();
    if (next.length > 0) this.#step++;
  }

  #arrive(target: string, arrival: Arrival, next: Omit<Task, 'index'>[]): void {
    if (target === END) {
      this.arrivals.push(arrival);
      return;
    }
    if (!this.#plan.nodes.get(target)?.isJoin) {
      next.push({ node: target, input: arrival.output });
      return;
    }
    let arrived = this.#joins.get(target);
    if (!arrived) this.#joins.set(target, (arrived = new Map()));
    const others = arrived.get(arrival.node);
    if (others) others.push(arrival.output);
    else arrived.set(arrival.node, [arrival.output]);
  }

  /** Runs waiting joins with the outputs they have, when no other task is left. Joins that another waiting join can reach wait longer. */
  #giveUpWaiting(next: Omit<Task, 'index'>[]): void {
    const waiting = [...this.#joins.keys()];
    const first = waiting.filter(
      (name) => !waiting.some((other) => other !== name && reachableFrom(targetsIn(this.#plan), other).has(name)),
    );
    // If all waiting joins can reach each other, the join that got an output first runs.
    for (const name of first.length > 0 ? first : waiting.slice(0, 1)) {
      const arrived = this.#joins.get(name);
      if (arrived) next.push(this.#joined(name, arrived));
    }
  }

  #joined(name: string, arrived: ReadonlyMap<string, readonly (JsonValue | undefined)[]>): Omit<Task, 'index'> {
    this.#joins.delete(name);
    const sources = this.#plan.sources.get(name) ?? [];
    return {
      node: name,
      input: frozen(byNode(sources.flatMap((node) => (arrived.get(node) ?? []).map((output) => ({ node, output }))))),
    };
  }
}

/** Returns the outputs by node name: a list for a node that ran several times. */
export function byNode(
  gave: readonly { readonly node: string; readonly output: JsonValue | undefined }[],
): Record<string, JsonValue> {
  const outputs = new Map<string, JsonValue[]>();
  for (const { node, output = null } of gave) {
    const others = outputs.get(node);
    if (others) others.push(output);
    else outputs.set(node, [output]);
  }
  return Object.fromEntries([...outputs].map(([node, list]) => [node, list.length === 1 ? (list[0] ?? null) : list]));
}
