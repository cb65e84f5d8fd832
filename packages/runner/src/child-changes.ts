import { type Event, type EventActions, getFunctionResponses } from '@eventloom/core';
import { enclosedBranch, enclosureOf, setOwn } from '@eventloom/core/internal';

/** The last change of a state key: the branch of the call in which an agent changed it, and the new value. */
interface ChildChange {
  /** The branch of the call. */
  readonly enclosure: string;
  /** Undefined for a key that was removed. */
  readonly value: unknown;
}

/** The response of a call, with the state that the agent changed in it. */
interface RepeatingResponse {
  readonly event: Event;
  /** The keys that were changed in the call and not by the response itself. */
  readonly repeatedState: ReadonlySet<string>;
}

/**
 * State keys that agents changed last while they ran as tools. Their changes are committed with their own events, which readers of the run
 * do not see, so the response of the call repeats them. A key that another agent or call of the run changed since is left out: that change
 * is in another event, and readers that apply the events in order would lose it.
 */
export class ChildChanges {
  readonly #last = new Map<string, ChildChange>();

  /** Returns the changes in a resumed run that no event repeats yet; undefined if there are none. */
  static inRun(invocationId: string, events: readonly Event[]): ChildChanges | undefined {
    const changes = new ChildChanges();
    const first = events.findIndex((event) => event.invocationId === invocationId);
    for (const event of first < 0 ? [] : events.slice(first)) {
      const isOfRun = event.invocationId === invocationId;
      if (isOfRun) changes.repeatIn(event);
      changes.note(isOfRun ? enclosureOf(event.branch) : '', event.actions);
    }
    return changes.#last.size > 0 ? changes : undefined;
  }

  /**
   * Records the keys that a stored event changed.
   *
   * @param enclosure the branch of the call that contains the event; empty for an event of the run's own agents, which
   * readers see
   */
  note(enclosure: string, { stateDelta, removedState = [] }: EventActions): void {
    for (const key in stateDelta) this.#set(key, enclosure, stateDelta[key]);
    for (const key of removedState) this.#set(key, enclosure, undefined);
  }

  #set(key: string, enclosure: string, value: unknown): void {
    if (enclosure === '') this.#last.delete(key);
    else this.#last.set(key, { enclosure, value });
  }

  /** Returns the event with the changes of the calls that it responds to; undefined if there are none. Each change is repeated once. */
  repeatIn(event: Event): RepeatingResponse | undefined {
    if (this.#last.size === 0) return undefined;
    const enclosures = new Set(
      getFunctionResponses(event).map(({ name = '', id = '' }) => enclosedBranch(event.branch, name, id)),
    );
    if (enclosures.size === 0) return undefined;
    const stateDelta = { ...event.actions.stateDelta };
    const removedState = [...(event.actions.removedState ?? [])];
    const changedByEvent = new Set([...Object.keys(stateDelta), ...removedState]);
    const repeatedState = new Set<string>();
    for (const [key, { enclosure, value }] of this.#last) {
      if (!enclosures.has(enclosure)) continue;
      this.#last.delete(key);
      if (changedByEvent.has(key)) continue;
      repeatedState.add(key);
      if (value === undefined) removedState.push(key);
      else setOwn(stateDelta, key, value);
    }
    if (repeatedState.size === 0) return undefined;
    const actions = { ...event.actions, stateDelta, ...(removedState.length > 0 && { removedState }) };
    return { event: { ...event, actions }, repeatedState };
  }
}
