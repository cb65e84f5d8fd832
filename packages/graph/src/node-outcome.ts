import type { Content, EventActions, JsonValue, Part } from '@eventloom/core';

/** The outcome of an attempt that did not fail. */
export interface NodeOutcome {
  /** True if the node waits for an answer; all other fields are then absent. */
  readonly isWaiting: boolean;
  /** New questions of the attempt, without those that earlier attempts asked. */
  readonly questions?: readonly Part[];
  readonly output?: JsonValue | undefined;
  /** Writes to channels, before the reducers. */
  readonly updates?: readonly (readonly [string, JsonValue])[];
  readonly route?: string | undefined;
  readonly actions?: Partial<EventActions> | undefined;
  /** The last content of an agent, which becomes the content of the node's event. */
  readonly content?: Content | undefined;
  readonly responseId?: string | undefined;
}
