import type { Content, EventActions, JsonValue, Part } from '@eventloom/core';

/** What came of an attempt that did not fail. */
export interface NodeOutcome {
  /** True when somebody has to answer first; all else is then absent. */
  readonly isWaiting: boolean;
  /** What is to be asked that was not asked before. */
  readonly questions?: readonly Part[];
  readonly output?: JsonValue | undefined;
  /** Writes to channels, before the reducers. */
  readonly updates?: readonly (readonly [string, JsonValue])[];
  readonly route?: string | undefined;
  readonly actions?: Partial<EventActions> | undefined;
  /** What an agent said last: it is the node's to say. */
  readonly content?: Content | undefined;
  readonly responseId?: string | undefined;
}
