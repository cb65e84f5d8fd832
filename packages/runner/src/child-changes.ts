import { enclosedBranch, type Event, type EventActions, getFunctionResponses } from '@eventloom/core';

/**
 * State keys that agents changed while they ran as tools. Their changes are committed with their own events, which readers of the run
 * do not see. They must not be committed again, because the values may have changed since. So the forwarded response of the call
 * has the changes, and the stored response does not.
 */
export class ChildChanges {
  /** Changed keys by the branch of the call. */
  readonly #keys = new Map<string, Set<string>>();

  /** Records the keys that an event changed in the call of this branch. */
  note(enclosure: string, { stateDelta, removedState = [] }: EventActions): void {
    const changed = [...Object.keys(stateDelta), ...removedState];
    if (changed.length === 0) return;
    let keys = this.#keys.get(enclosure);
    if (!keys) this.#keys.set(enclosure, (keys = new Set()));
    for (const key of changed) keys.add(key);
  }

  /** Returns the event with the current values of the keys that changed in the calls it responds to; only once for each call. */
  applyTo(event: Event, state: Readonly<Record<string, unknown>>): Event {
    if (this.#keys.size === 0) return event;
    const keys = new Set<string>();
    for (const { name = '', id = '' } of getFunctionResponses(event)) {
      const enclosure = enclosedBranch(event.branch, name, id);
      for (const key of this.#keys.get(enclosure) ?? []) keys.add(key);
      this.#keys.delete(enclosure);
    }
    return keys.size === 0 ? event : { ...event, actions: withChanges(event.actions, keys, state) };
  }
}

function withChanges(
  actions: EventActions,
  keys: ReadonlySet<string>,
  state: Readonly<Record<string, unknown>>,
): EventActions {
  // The event's own changes win.
  const own = new Set([...Object.keys(actions.stateDelta), ...(actions.removedState ?? [])]);
  const told = [...keys].filter((key) => !own.has(key));
  const set = told.filter((key) => Object.hasOwn(state, key)).map((key) => [key, structuredClone(state[key])]);
  const removed = told.filter((key) => !Object.hasOwn(state, key));
  return {
    ...actions,
    stateDelta: { ...Object.fromEntries(set), ...actions.stateDelta },
    ...(removed.length > 0 ? { removedState: [...(actions.removedState ?? []), ...removed] } : {}),
  };
}
