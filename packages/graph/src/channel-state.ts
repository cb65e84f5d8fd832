import { copyJson, type InvocationContext, type JsonValue } from '@eventloom/core';
import { NodeError } from './errors/node-error.ts';
import type { GraphPlan } from './graph-plan.ts';
import type { GraphRecord } from './graph-record.ts';

/** What a node changed, as it is stored. */
export interface ChannelChanges {
  /** Channels of the graph's own, by name. */
  readonly state: Record<string, JsonValue>;
  /** The others, by their keys. */
  readonly stateDelta: Record<string, JsonValue>;
}

/** The values of a graph's channels: those of its own, and those that are keys of the session's state. */
export class ChannelState {
  readonly #plan: GraphPlan;
  readonly #record: GraphRecord;
  readonly #context: InvocationContext;

  constructor(plan: GraphPlan, record: GraphRecord, context: InvocationContext) {
    this.#plan = plan;
    this.#record = record;
    this.#context = context;
  }

  /** What the channels hold when the graph begins. @throws NodeError for a default that does not fit */
  async defaults(): Promise<ChannelChanges> {
    const changes: ChannelChanges = { state: {}, stateDelta: {} };
    for (const [name, { default: value }] of this.#plan.channels) {
      if (value !== undefined) await this.#set(changes, this.#plan.name, name, value);
    }
    return changes;
  }

  /** What the writes of a node come to, on what the channels hold now. @throws NodeError for a value that does not fit */
  async changed(nodeName: string, updates: readonly (readonly [string, JsonValue])[]): Promise<ChannelChanges> {
    const changes: ChannelChanges = { state: {}, stateDelta: {} };
    for (const [name, update] of updates) {
      const channel = this.#plan.channels.get(name);
      if (!channel) throw new NodeError(nodeName, `writes "${name}", and there is no such channel any more`);
      const { reducer, stateKey } = channel;
      const current =
        stateKey === undefined
          ? (changes.state[name] ?? this.#value(name))
          : (changes.stateDelta[stateKey] ?? this.#value(name));
      await this.#set(changes, nodeName, name, reducer ? reducer(current, update) : update);
    }
    return changes;
  }

  async #set(changes: ChannelChanges, nodeName: string, name: string, value: unknown): Promise<void> {
    const channel = this.#plan.channels.get(name);
    if (!channel) throw new NodeError(nodeName, `writes "${name}", and there is no such channel any more`);
    const checked = await channel.schema.check(value);
    if ('issues' in checked)
      throw new NodeError(nodeName, `the channel "${name}" does not take its value: ${checked.issues.join('; ')}`);
    const copied = copyJson(checked.value, { toJson: true });
    if ('fault' in copied)
      throw new NodeError(nodeName, `the channel "${name}" ${copied.fault.reason}; channels hold JSON`);
    if (channel.stateKey === undefined) changes.state[name] = frozen(copied.value);
    else changes.stateDelta[channel.stateKey] = copied.value;
  }

  #value(name: string): JsonValue | undefined {
    const stateKey = this.#plan.channels.get(name)?.stateKey;
    if (stateKey === undefined) return this.#record.values.get(name);
    const { state } = this.#context.session;
    // The state of a session is JSON, and the session's own.
    return Object.hasOwn(state, stateKey) ? (structuredClone(state[stateKey]) as JsonValue) : undefined;
  }

  /** All channels as they are now, not to be changed. @param changes what comes on top */
  snapshot(changes?: ChannelChanges): Readonly<Record<string, unknown>> {
    const snapshot: Record<string, unknown> = {};
    for (const [name, { stateKey }] of this.#plan.channels) {
      const changed = stateKey === undefined ? changes?.state[name] : changes?.stateDelta[stateKey];
      snapshot[name] = changed ?? this.#value(name);
    }
    return Object.freeze(snapshot);
  }
}

/** Nodes share what they read. */
function frozen(value: JsonValue): JsonValue {
  if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) frozen(item);
    Object.freeze(value);
  }
  return value;
}
