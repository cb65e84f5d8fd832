import type { Event, JsonValue } from '@eventloom/core';

/** The `agentState` of the event of a node run: everything that is needed to resume after it. */
export interface Checkpoint {
  /** The node; `START` for the start of the graph and for changes from outside. */
  readonly node: string;
  /** Id of the run of the node: `step-place`; for a run that another run started see `innerRunId`. */
  readonly run: string;
  readonly output?: JsonValue;
  /** Digest of the input. Only for a run that another run started. */
  readonly given?: string;
  /** The nodes that follow. Absent for a run that another run started. */
  readonly next?: readonly string[];
  /**
   * New values of the channels that the node changed, by channel name. Channels with a `stateKey` are in `stateDelta`
   * instead; the first checkpoint also has their values at the beginning of the graph.
   */
  readonly state?: Readonly<Record<string, JsonValue>>;
  /** Items that were appended to channels that are lists, by channel name. */
  readonly added?: Readonly<Record<string, readonly JsonValue[]>>;
}

/** Returns the new values of the channels that a checkpoint changed. @param held returns a channel's value before the checkpoint */
export function changedChannels(
  { state, added = {} }: Checkpoint,
  held: (name: string) => JsonValue | undefined,
): Record<string, JsonValue> {
  const longer = Object.entries(added).map(([name, items]): [string, JsonValue] => {
    const before = held(name);
    return [name, [...(Array.isArray(before) ? before : []), ...items]];
  });
  return { ...state, ...Object.fromEntries(longer) };
}

/** The run id of the event that begins a graph: `START` in step 0. */
export const START_RUN = '0-0';
/** The run id of the event that ends a graph; its output is the graph's output. */
export const FINISH = 'end';
/** The run id of an event that changes channels from outside, as a fork does. */
export const UPDATE = 'update';

/** Returns the checkpoint of a graph that an event holds; undefined for other events. */
export function checkpointOf({ actions }: Event): Checkpoint | undefined {
  const { agentState } = actions;
  if (typeof agentState?.['run'] !== 'string' || typeof agentState['node'] !== 'string') return undefined;
  // Only graphs write these two keys.
  return agentState as unknown as Checkpoint;
}

/** Converts a checkpoint to the `agentState` of an event. */
export function toAgentState(checkpoint: Checkpoint): Record<string, unknown> {
  return { ...checkpoint };
}

/** Returns the id of the run at this position of a step. */
export function runId(step: number, index: number): string {
  return `${step}-${index}`;
}

/** Returns the id of a run that another run started. Characters of the key other than letters, digits and _ are escaped. */
export function innerRunId(outer: string, nodeName: string, key: string): string {
  const escaped = key.replaceAll(/\W/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `${outer}~${nodeName}-${escaped}`;
}

/** Returns the id of the step's run that directly or indirectly started this run, or the id itself. */
export function outermostRun(run: string): string {
  return run.split('~', 1)[0] ?? run;
}

/** Parses the step and position of a run of a step; undefined for a run that another run started. */
export function placeOf(run: string): { readonly step: number; readonly index: number } | undefined {
  const found = /^(\d+)-(\d+)$/.exec(run);
  return found ? { step: Number(found[1]), index: Number(found[2]) } : undefined;
}

/** Returns the id of the run whose question is in this event; undefined if the event has no question of a graph. */
export function askingRun({ actions }: Event): string | undefined {
  const asks = actions.agentState?.['asks'];
  return typeof asks === 'string' ? asks : undefined;
}
