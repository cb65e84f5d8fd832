import { setOwn } from '../content/json.ts';

/** A request to a person to confirm a tool call, and the answer. */
export interface ToolConfirmation {
  hint?: string;
  confirmed?: boolean;
  /** Whatever the tool wants to show or get back; JSON. */
  payload?: unknown;
}

/** A request for input to a person while a tool runs. */
export interface InputRequest {
  /** Tells several questions of one call apart; may be empty. */
  key: string;
  message?: string;
  /** Whatever a client may need to ask; JSON. */
  payload?: unknown;
  /** JSON Schema of the answer. */
  responseSchema?: Record<string, unknown>;
}

/** A summary that stands for the events of a time range. */
export interface EventCompaction {
  /** Seconds since the epoch, inclusive. */
  startTimestamp: number;
  /** Seconds since the epoch, inclusive. */
  endTimestamp: number;
  compactedContent: { role?: string; parts?: { text?: string }[] };
}

/**
 * Returns a timestamp for an event that is appended after a compaction: later than `endTimestamp`, because the summary stands for
 * every event up to then.
 */
export function afterCovered(timestamp: number, endTimestamp: number): number {
  return timestamp > endTimestamp ? timestamp : endTimestamp + 0.001;
}

/**
 * Points to the events before this one that still count, for readers that read a session back from its newest event.
 * The runner writes it beside a compaction or a rewind; without it all events have to be read.
 */
export interface HistoryPointer {
  /** The sequence number of the event itself: with another one it was copied from elsewhere, and says nothing. */
  seq: number;
  /** A rewind: the sequence number of the first event that it undoes. */
  rewoundFrom?: number;
  /** A compaction: no event before this sequence number counts, but through a summary. */
  keptFrom?: number;
  /** A compaction: the ids of the earlier summaries before `keptFrom` that go on counting; absent for none. */
  summaries?: string[];
  /** A sequence number that none of these summaries is before. */
  summariesFrom?: number;
}

/**
 * Side effects and control signals of one event. They take effect when the event is committed; a partial event's are ignored.
 * Absent and empty mean the same.
 */
export interface EventActions {
  /** State keys (with their scope prefix) and their new JSON values. Shallow replace; null is a value. */
  stateDelta: Record<string, unknown>;
  /** State keys to remove, applied after `stateDelta`. */
  removedState?: string[];
  /** Artifacts saved since the last event: name (with `user:` where it belongs to the user) to version. */
  artifactDelta: Record<string, number>;
  /** Hand control to the agent of this name. */
  transferToAgent?: string;
  /** Leave the innermost loop around the agent, once its turn is over. */
  escalate?: boolean;
  /** The function response is the answer: the model is not asked to put it into words. */
  skipSummarization?: boolean;
  /** The agent is done for this invocation. */
  endOfAgent?: boolean;
  /** A checkpoint of the agent that wrote the event; its keys are the agent's own. */
  agentState?: Record<string, unknown>;
  /** Function call id to what has to be authorised. */
  requestedAuthConfigs?: Record<string, unknown>;
  /** Function call id to the confirmation that is asked for. */
  requestedToolConfirmations?: Record<string, ToolConfirmation>;
  /** Function call id to what a person is asked for. */
  requestedInputs?: Record<string, InputRequest[]>;
  compaction?: EventCompaction;
  /** Everything from this invocation on is as if it had not happened. */
  rewindBeforeInvocationId?: string;
  history?: HistoryPointer;
}

/** Actions with both deltas present, and what is given. */
export function createEventActions(actions?: Partial<EventActions>): EventActions {
  if (!actions) return { stateDelta: {}, artifactDelta: {} };
  return { ...actions, stateDelta: actions.stateDelta ?? {}, artifactDelta: actions.artifactDelta ?? {} };
}

/** True when the actions change or signal nothing. */
export function isEmptyActions(actions: Partial<EventActions>): boolean {
  for (const key in actions) {
    const value = actions[key as keyof EventActions];
    if (value === undefined || value === null || value === false || value === '') continue;
    if (typeof value !== 'object') return false;
    if (Array.isArray(value)) {
      if (value.length > 0) return false;
    } else for (const _ in value) return false;
  }
  return true;
}

/**
 * Merges from left to right into new actions: of two writes to one key, or two signals of one kind, the later wins; a key that
 * one side removes and a later one sets is set.
 */
export function mergeEventActions(sources: readonly Partial<EventActions>[]): EventActions {
  const merged = createEventActions();
  for (const source of sources) {
    const { stateDelta, removedState, artifactDelta, ...rest } = source;
    const { requestedAuthConfigs, requestedToolConfirmations, requestedInputs, ...signals } = rest;
    assignOwn(merged.stateDelta, stateDelta);
    assignOwn(merged.artifactDelta, artifactDelta);
    if (stateDelta && merged.removedState) {
      merged.removedState = merged.removedState.filter((key) => !Object.hasOwn(stateDelta, key));
    }
    if (removedState?.length) {
      for (const key of removedState) delete merged.stateDelta[key];
      merged.removedState = [...new Set([...(merged.removedState ?? []), ...removedState])];
    }
    if (requestedAuthConfigs) assignOwn((merged.requestedAuthConfigs ??= {}), requestedAuthConfigs);
    if (requestedToolConfirmations) assignOwn((merged.requestedToolConfirmations ??= {}), requestedToolConfirmations);
    if (requestedInputs) assignOwn((merged.requestedInputs ??= {}), requestedInputs);
    for (const [key, value] of Object.entries(signals)) {
      if (value !== undefined && value !== null) setOwn(merged as unknown as Record<string, unknown>, key, value);
    }
  }
  if (merged.removedState?.length === 0) delete merged.removedState;
  return merged;
}

function assignOwn<T>(target: Record<string, T>, source: Readonly<Record<string, T>> | undefined): void {
  for (const key in source) {
    if (Object.hasOwn(source, key)) setOwn(target, key, source[key] as T);
  }
}

/** True when what tools did ends the agent's turn: a result is the answer as it is, or control goes to another agent. */
export function leavesAgent({ skipSummarization, transferToAgent }: EventActions): boolean {
  return skipSummarization === true || transferToAgent !== undefined;
}
