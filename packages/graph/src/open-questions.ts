import { type Event, getFunctionCalls, getFunctionResponses, inputRequestOf } from '@eventloom/core';

/** What was asked and nobody answered: by a node, or by an agent, a tool or a graph that is one. */
export interface OpenQuestion {
  /** Who asked. */
  readonly node: string;
  /** The call that asks: `adk_request_input`, `adk_request_confirmation`, or a tool whose result comes later. */
  readonly name: string;
  /** What it is answered by: the id of the function call. */
  readonly id: string;
  readonly message?: string;
  readonly payload?: unknown;
  readonly responseSchema?: Readonly<Record<string, unknown>>;
}

/** A segment of a branch in which a node of a graph has its world. */
const NODE_WORLD = /^[^.@]+@\d+-\d/;

/**
 * What a graph and all within its nodes asked, without an answer, in the order in which it was asked.
 * @param begin of the graph
 * @param events of the run of the runner, from there on
 */
export function openQuestions({ executionId, branch }: Event, events: readonly Event[]): OpenQuestion[] {
  const prefix = branch === undefined ? '' : `${branch}.`;
  const isWithin = (event: Event): boolean =>
    event.executionId === executionId ||
    (event.branch !== undefined &&
      event.branch.startsWith(prefix) &&
      NODE_WORLD.test(event.branch.slice(prefix.length)));
  const open = new Map<string, OpenQuestion>();
  for (const event of events) {
    for (const { id = '' } of getFunctionResponses(event)) open.delete(id);
    if (!event.longRunningToolIds?.length || !isWithin(event)) continue;
    for (const call of getFunctionCalls(event)) {
      const { id = '', name = '' } = call;
      if (!event.longRunningToolIds.includes(id)) continue;
      const { key: _, ...asked } = inputRequestOf(call) ?? { key: '' };
      open.set(id, { node: event.author, name, id, ...asked });
    }
  }
  return [...open.values()];
}
