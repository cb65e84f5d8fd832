import { enclosedBranch, type Event, type EventActions, getFunctionResponses } from '@eventloom/core';

/**
 * The state keys that agents changed which are called as tools. What they changed is committed with their own events, which readers
 * of the run do not see, and must not be committed a second time: somebody may have changed it since. So it is told in the
 * response of the call as that is passed on, and is not in the response that is stored.
 */
export class InnerChanges {
  /** By the branch of a call. */
  readonly #keys = new Map<string, Set<string>>();

  /** Notes what an event changed in the call of this branch. */
  note(enclosure: string, { stateDelta, removedState = [] }: EventActions): void {
    const changed = [...Object.keys(stateDelta), ...removedState];
    if (changed.length === 0) return;
    let keys = this.#keys.get(enclosure);
    if (!keys) this.#keys.set(enclosure, (keys = new Set()));
    for (const key of changed) keys.add(key);
  }

  /** The event with what was changed in the calls that it answers, as it is now; once. The event itself when that is nothing. */
  toldIn(event: Event, state: Readonly<Record<string, unknown>>): Event {
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
  // What the event itself changed is what it says.
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
