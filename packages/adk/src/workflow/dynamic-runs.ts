import { ConfigurationError } from '@eventloom/core';
import type { NodeResult } from './node-context.ts';

/** The runs that one attempt of a node made with `runNode`. */
export class DynamicRuns {
  /** The runs by their paths. */
  readonly started = new Map<string, Promise<NodeResult>>();
  /** Paths of the runs that have not settled. */
  readonly unfinished = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** The given ids that could be numbers of runs, by the name of the node. */
  readonly #givenNumbers = new Map<string, string>();

  /** Adds a run, and returns it. */
  start(path: string, run: Promise<NodeResult>): Promise<NodeResult> {
    this.unfinished.add(path);
    const running = run.finally(() => this.unfinished.delete(path));
    this.started.set(path, running);
    return running;
  }

  /** Returns the id of a run. @throws ConfigurationError for an empty id, and if a number is given for some runs of a node and not for others */
  identify(name: string, runId: string | undefined): string {
    const count = this.#counts.get(name) ?? 0;
    if (runId?.trim() === '')
      throw new ConfigurationError(`runNode "${name}": runId is empty; leave it out to number the runs`);
    if (runId !== undefined && /^\d+$/.test(runId)) this.#givenNumbers.set(name, runId);
    const number = this.#givenNumbers.get(name);
    if (number !== undefined && (runId === undefined || count > 0))
      throw new ConfigurationError(
        `runNode "${name}": runId "${number}" could be the number of another run; write one that is not a number`,
      );
    if (runId === undefined) this.#counts.set(name, count + 1);
    return runId ?? String(count + 1);
  }
}
