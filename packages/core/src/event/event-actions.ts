/** A request to a person to confirm a tool call, and their answer. */
export interface ToolConfirmation {
  /** Text to show to the person. */
  hint?: string;
  /** The answer. Absent or false: not confirmed. */
  confirmed?: boolean;
  /** JSON data of the tool for the person, or of the person for the tool. */
  payload?: unknown;
}

/** A request for input to a person while a tool runs. */
export interface InputRequest {
  /** Distinguishes the requests of one call. May be empty. */
  key: string;
  message?: string;
  /** Further JSON data for the client. */
  payload?: unknown;
  /** JSON Schema of the answer. Absent: any answer. */
  responseSchema?: Record<string, unknown>;
}

/** A summary that replaces the events of a time range in model requests. */
export interface EventCompaction {
  /** Seconds since the epoch, inclusive. */
  startTimestamp: number;
  /** Seconds since the epoch, inclusive. */
  endTimestamp: number;
  compactedContent: { role?: string; parts?: { text?: string }[] };
}

/**
 * Returns a timestamp, in seconds, for an event that is appended after a compaction: `timestamp`, or a millisecond after
 * `endTimestamp` if that is later. The summary replaces every event up to `endTimestamp`.
 */
export function afterCovered(timestamp: number, endTimestamp: number): number {
  return timestamp > endTimestamp ? timestamp : endTimestamp + 0.001;
}

/**
 * Points to the earlier events that are still in use after a compaction or a rewind, so that a reader that starts at the newest
 * event can stop early. The runner writes it. Without it, a reader has to read all events.
 */
export interface HistoryPointer {
  /** Sequence number of the event itself. A pointer with another number was copied from another session and is ignored. */
  seq: number;
  /** In a rewind: sequence number of the first event that it undoes. */
  rewoundFrom?: number;
  /** In a compaction: events before this sequence number are in use only through a summary. */
  keptFrom?: number;
  /** In a compaction: ids of the summaries before `keptFrom` that stay in use. Absent: none. */
  summaries?: string[];
  /** Lower bound of the sequence numbers of `summaries`. */
  summariesFrom?: number;
}

/**
 * Side effects and control signals of one event. They take effect when the event is committed; those of a partial event are
 * ignored. An absent field and an empty one mean the same.
 */
export interface EventActions {
  /** State keys, with their scope prefix, and their new JSON values. A value replaces the old one as a whole; null is a value. */
  stateDelta: Record<string, unknown>;
  /** State keys to remove, applied after `stateDelta`. */
  removedState?: string[];
  /** Artifacts saved since the agent's last event: version number by name. Names of the user's artifacts start with `user:`. */
  artifactDelta: Record<string, number>;
  /** Name of the agent that takes over once this agent has ended. */
  transferToAgent?: string;
  /** True ends the loops around the agent, each once its sub-agent that is running has ended. */
  escalate?: boolean;
  /** True makes the function response the agent's answer: the model is not called to summarise it. */
  skipSummarization?: boolean;
  /** True if the agent has completed in this invocation. Written in resumable runs. */
  endOfAgent?: boolean;
  /**
   * Checkpoint of the agent that wrote the event, in resumable runs. The agent's class defines the keys. A message of the user has marks of
   * the runner here: the config of the run that it begins, or that it continues one.
   */
  agentState?: Record<string, unknown>;
  /** Requests for credentials (`AuthConfig`), by function call id. */
  requestedAuthConfigs?: Record<string, unknown>;
  /** Requests for a confirmation, by function call id. */
  requestedToolConfirmations?: Record<string, ToolConfirmation>;
  /** Requests for input, by function call id. */
  requestedInputs?: Record<string, InputRequest[]>;
  /** A summary of earlier events. */
  compaction?: EventCompaction;
  /** Id of the first invocation that is undone: readers ignore its events and all later ones up to this event. */
  rewindBeforeInvocationId?: string;
  /** Earlier events that stay in use after this compaction or rewind. */
  history?: HistoryPointer;
}

/** True if the actions contain no change and no signal. */
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
