import { setOwn } from '../content/json.ts';

/** What a person is asked before a tool runs, and what they said. */
export interface ToolConfirmation {
  hint?: string;
  confirmed?: boolean;
  /** Whatever the tool wants to show or get back; JSON. */
  payload?: unknown;
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
  /** Leave the enclosing loop. */
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
  compaction?: EventCompaction;
  /** Everything from this invocation on is as if it had not happened. */
  rewindBeforeInvocationId?: string;
}

/** Actions with both deltas present, and what is given. */
export function createEventActions(actions?: Partial<EventActions>): EventActions {
  if (!actions) return { stateDelta: {}, artifactDelta: {} };
  return { ...actions, stateDelta: actions.stateDelta ?? {}, artifactDelta: actions.artifactDelta ?? {} };
}

/** True when the actions change or signal nothing. */
export function isEmptyActions(actions: EventActions): boolean {
  for (const key in actions) {
    const value = actions[key as keyof EventActions];
    if (value === undefined || value === null || value === false || value === '') continue;
    if (typeof value !== 'object') return false;
    if (Object.keys(value).length > 0) return false;
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
    const { stateDelta, removedState, artifactDelta, requestedAuthConfigs, requestedToolConfirmations, ...signals } =
      source;
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
