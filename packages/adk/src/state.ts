import { ConfigurationError, createEventActions, State } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { requireArgument } from './check-arguments.ts';
import { isInstanceOf } from './class-checks.ts';

/** State that belongs to no run. */
class DetachedState extends State {
  /** The name of the class in error messages. */
  static override readonly name: string = 'State';

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOf(this, DetachedState, State, value);
  }

  /**
   * @param value the state; each write changes it
   * @param delta changes of the state that are not stored yet; each write is added
   * @throws ConfigurationError for another value than an object, and for a schema, which only nodes of a workflow check
   */
  constructor(value: Record<string, unknown> = {}, delta: Record<string, unknown> = {}, schema?: undefined) {
    if (schema !== undefined)
      throw new ConfigurationError(
        'State: a schema is checked in the nodes of a workflow only; write stateSchema in the options of the node',
      );
    for (const each of [value, delta])
      requireArgument(isRecord(each), 'State', 'an object', each, "new State({ city: 'Oslo' })");
    const actions = createEventActions();
    actions.stateDelta = delta;
    super(Object.assign(value, delta), actions);
  }
}

/** The state of a run, a session or a program that was written for `@google/adk`. */
export type AdkState = State;

/**
 * The `State` of programs that were written for `@google/adk`, for state that belongs to no run: that of
 * `@eventloom/core`, over a record and its changes.
 *
 * @example
 * const state = new State({ city: 'Oslo' });
 * state.set('visits', 1);
 */
export const AdkState: typeof DetachedState = DetachedState;
