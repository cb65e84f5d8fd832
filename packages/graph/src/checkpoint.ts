import type { Event, JsonValue } from '@eventloom/core';

/** The `agentState` of the event of a node run: everything that a resume behind it needs. */
export interface Checkpoint {
  /** The node; `START` for the begin of the graph and for what was changed from outside. */
  readonly node: string;
  /** Id of the run of the node: `step-place`; for a run that another run started see `innerRunId`. */
  readonly run: string;
  readonly output?: JsonValue;
  /** The digest of its input, of a run that another one started. */
  readonly given?: string;
  /** The nodes that follow. Absent for a run that another run started. */
  readonly next?: readonly string[];
  /**
   * The channels that it changed, with their new values; those with a `stateKey` are in `stateDelta`, and here as the graph found them
   * when it began.
   */
  readonly state?: Readonly<Record<string, JsonValue>>;
  /** The channels that are lists and only became longer, with what was added. */
  readonly added?: Readonly<Record<string, readonly JsonValue[]>>;
}

/** The channels that a checkpoint changed, with their new values. @param held what one holds before it */
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

/** The run of the event that begins a graph: `START` in step 0. */
export const BEGIN = '0-0';
/** The run of the event that ends a graph: its output is the graph's. */
export const FINISH = 'end';
/** The run of an event by which channels were changed from outside. */
export const UPDATE = 'update';

/** Returns the checkpoint of a graph that an event holds; undefined for other events. */
export function checkpointOf({ actions }: Event): Checkpoint | undefined {
  const { agentState } = actions;
  if (typeof agentState?.['run'] !== 'string' || typeof agentState['node'] !== 'string') return undefined;
  // Only graphs write these two.
  return agentState as unknown as Checkpoint;
}

/** A checkpoint as it is written. */
export function toAgentState(checkpoint: Checkpoint): Record<string, unknown> {
  return { ...checkpoint };
}

/** The id of the run in this place of a step. */
export function runId(step: number, index: number): string {
  return `${step}-${index}`;
}

/** The id of a run that another one started. Keys are whatever the app likes: what is no letter, digit or _ in them is escaped. */
export function innerRunId(outer: string, nodeName: string, key: string): string {
  const escaped = key.replaceAll(/\W/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `${outer}~${nodeName}-${escaped}`;
}

/** The run of a step that a run belongs to. */
export function outermostRun(run: string): string {
  return run.split('~', 1)[0] ?? run;
}

/** The step and the place of a run that no other run started; undefined for another one. */
export function placeOf(run: string): { readonly step: number; readonly index: number } | undefined {
  const found = /^(\d+)-(\d+)$/.exec(run);
  return found ? { step: Number(found[1]), index: Number(found[2]) } : undefined;
}

/** A node asked a person: what the `agentState` of the question says. */
export interface Question {
  readonly asks: string;
}

/** The run that asked the question in this event; undefined when no graph asked. */
export function askingRun({ actions }: Event): string | undefined {
  const asks = actions.agentState?.['asks'];
  return typeof asks === 'string' ? asks : undefined;
}
