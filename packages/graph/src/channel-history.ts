import type { Event, JsonValue } from '@eventloom/core';
import { setOwn } from '@eventloom/core/internal';
import type { Checkpoint } from './checkpoint.ts';
import type { GraphPlan } from './graph-plan.ts';
import { listAdditions } from './json-values.ts';

/** Changes of the channels in one step. */
export interface StateChanges {
  /** New values of the channels that were replaced, by channel name. */
  readonly changed: Readonly<Record<string, JsonValue>>;
  /** Items that were appended to channels that are lists, by channel name. */
  readonly added: Readonly<Record<string, readonly JsonValue[]>>;
  /** Names of the channels that became empty because their session-state key was removed; absent if there are none. */
  readonly removed?: readonly string[];
}

/** Computes the channel values of a run from its events, in order. Appending to a list does not copy the list. */
export class ChannelHistory {
  readonly #plan: GraphPlan;
  readonly #values = new Map<string, JsonValue>();
  /** Lists that were copied here and may therefore be modified. */
  readonly #lists = new Map<string, JsonValue[]>();
  #changed = new Set<string>();
  #added = new Map<string, JsonValue[]>();
  #removed = new Set<string>();

  constructor(plan: GraphPlan) {
    this.#plan = plan;
  }

  /** Applies an event of the graph. */
  add({ state = {}, added = {} }: Checkpoint, event: Event): void {
    for (const [name, value] of Object.entries(state)) this.#set(name, value);
    for (const [name, items] of Object.entries(added)) this.#append(name, items);
    this.noteKeys(event);
  }

  /** Records the session-state keys that an event of any author changed. */
  noteKeys({ actions: { stateDelta, removedState } }: Event): void {
    for (const [name, { stateKey }] of this.#plan.channels) {
      if (stateKey === undefined) continue;
      if (removedState?.includes(stateKey)) this.#remove(name);
      if (!Object.hasOwn(stateDelta, stateKey)) continue;
      // Stored values are JSON.
      const value = stateDelta[stateKey] as JsonValue;
      const items = listAdditions(this.#values.get(name), value);
      if (items) this.#append(name, items);
      else this.#set(name, value);
    }
  }

  #set(name: string, value: JsonValue): void {
    this.#values.set(name, value);
    this.#lists.delete(name);
    this.#added.delete(name);
    this.#changed.add(name);
    this.#removed.delete(name);
  }

  #remove(name: string): void {
    if (!this.#values.delete(name)) return;
    this.#lists.delete(name);
    this.#added.delete(name);
    this.#changed.delete(name);
    this.#removed.add(name);
  }

  #append(name: string, items: readonly JsonValue[]): void {
    let list = this.#lists.get(name);
    if (!list) {
      const held = this.#values.get(name);
      list = Array.isArray(held) ? [...held] : [];
      this.#lists.set(name, list);
      this.#values.set(name, list);
    }
    for (const item of items) list.push(item);
    if (this.#changed.has(name) || items.length === 0) return;
    const added = this.#added.get(name) ?? [];
    for (const item of items) added.push(item);
    this.#added.set(name, added);
  }

  /** Returns the current values of all channels. */
  state(): Record<string, JsonValue> {
    return this.#pick(this.#values.keys());
  }

  /** Returns the changes since the last call. */
  takeChanges(): StateChanges {
    const changed = this.#pick(this.#changed);
    const added: Record<string, JsonValue[]> = {};
    for (const [name, items] of this.#added) setOwn(added, name, items);
    this.#changed = new Set();
    this.#added = new Map();
    const removed = [...this.#removed];
    this.#removed = new Set();
    return removed.length > 0 ? { changed, added, removed } : { changed, added };
  }

  #pick(names: Iterable<string>): Record<string, JsonValue> {
    const picked: Record<string, JsonValue> = {};
    for (const name of names) {
      const list = this.#lists.get(name);
      setOwn(picked, name, list ? [...list] : (this.#values.get(name) ?? null));
    }
    return picked;
  }
}
