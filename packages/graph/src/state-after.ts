import { InvalidRequestError, type JsonValue } from '@eventloom/core';
import { describeKind, isRecord, setOwn } from '@eventloom/core/internal';
import type { GraphHistory } from './graph-history.ts';

/**
 * Returns the channel values after a step of a run. A history stores only the changes of each step, to stay small.
 * @param run a run from `GraphAgent.history`, or from a server's response
 * @param step number of the step, from 1; 0 for the values at the beginning of the run
 * @throws InvalidRequestError for a value that is not a run, and for a step that the run does not have
 */
export function stateAfter(run: Pick<GraphHistory, 'initialState' | 'steps'>, step: number): Record<string, JsonValue> {
  if (!isRun(run))
    throw new InvalidRequestError(
      `stateAfter: run: expected a run of a history, got ${describeKind(run)}; write stateAfter(run, step), with a run of graph.history(query)`,
    );
  if (!Number.isInteger(step) || step < 0 || step > run.steps.length)
    throw new InvalidRequestError(
      `stateAfter: step: expected one of the ${run.steps.length} steps of the run, got ${String(step)}`,
    );
  const state = new Map(Object.entries(run.initialState));
  const lists = new Map<string, JsonValue[]>();
  for (const { changed, added, removed = [] } of run.steps.slice(0, step)) {
    for (const name of removed) {
      state.delete(name);
      lists.delete(name);
    }
    for (const [name, value] of Object.entries(changed)) {
      state.set(name, value);
      lists.delete(name);
    }
    for (const [name, items] of Object.entries(added)) {
      const held = state.get(name);
      const list = lists.get(name) ?? (Array.isArray(held) ? [...held] : []);
      for (const item of items) list.push(item);
      lists.set(name, list);
      state.set(name, list);
    }
  }
  const picked: Record<string, JsonValue> = {};
  for (const [name, value] of state) setOwn(picked, name, value);
  return picked;
}

function isRun(run: unknown): boolean {
  return isRecord(run) && isRecord(run['initialState']) && Array.isArray(run['steps']);
}
