import { copyJson, type InvocationContext, type JsonValue } from '@eventloom/core';
import type { AnyChannel } from './channel.ts';
import { type Checkpoint, outermostRun } from './checkpoint.ts';
import { NodeError } from './errors/node-error.ts';
import { frozen } from './frozen.ts';
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

  /**
   * What the channels hold when the graph begins: under a key of the session's state what is held there, else the default.
   * @throws NodeError for a default that does not fit
   */
  async defaults(): Promise<ChannelChanges> {
    const changes: ChannelChanges = { state: {}, stateDelta: {} };
    for (const [name, channel] of this.#plan.channels) {
      const held = this.#value(name, channel);
      if (held === undefined && channel.default !== undefined)
        await this.#set(changes, this.#plan.name, name, channel, channel.default);
      // Whoever goes on with the first step has to know what it found.
      if (channel.stateKey === undefined) continue;
      const value = this.#value(name, channel, changes);
      if (value !== undefined) changes.state[name] = value;
    }
    return changes;
  }

  /** What the writes of a node come to, on what the channels hold now. @throws NodeError for a value that does not fit */
  async changed(
    nodeName: string,
    run: string,
    updates: readonly (readonly [string, JsonValue])[],
  ): Promise<ChannelChanges> {
    const changes: ChannelChanges = { state: {}, stateDelta: {} };
    for (const [name, update] of updates) {
      const channel = this.#plan.channels.get(name);
      if (!channel) throw new NodeError(nodeName, `writes "${name}", and there is no such channel any more`);
      const writer = this.#record.writers.get(name);
      if (!channel.reducer && writer !== undefined && writer !== outermostRun(run)) {
        throw new NodeError(
          nodeName,
          `writes the channel "${name}", which another run of the step wrote already; give it a reducer`,
        );
      }
      const value = channel.reducer ? channel.reducer(this.#value(name, channel, changes), update) : update;
      await this.#set(changes, nodeName, name, channel, value);
    }
    return changes;
  }

  async #set(
    changes: ChannelChanges,
    nodeName: string,
    name: string,
    { schema, stateKey }: AnyChannel,
    value: unknown,
  ): Promise<void> {
    const checked = await schema.check(value);
    if ('issues' in checked)
      throw new NodeError(nodeName, `the channel "${name}" does not take its value: ${checked.issues.join('; ')}`);
    const copied = copyJson(checked.value, { toJson: true });
    if ('fault' in copied)
      throw new NodeError(nodeName, `the channel "${name}" ${copied.fault.reason}; channels hold JSON`);
    if (stateKey === undefined) changes.state[name] = frozen(copied.value);
    else changes.stateDelta[stateKey] = copied.value;
  }

  /** Channels of the graph's own as they are stored: of a list that only became longer, what was added. */
  stored({ state }: ChannelChanges): Pick<Checkpoint, 'state' | 'added'> {
    const whole: Record<string, JsonValue> = {};
    const added: Record<string, JsonValue[]> = {};
    for (const [name, value] of Object.entries(state)) {
      const items = additions(this.#record.values.get(name), value);
      if (items) added[name] = items;
      else whole[name] = value;
    }
    return {
      ...(Object.keys(whole).length > 0 ? { state: whole } : {}),
      ...(Object.keys(added).length > 0 ? { added } : {}),
    };
  }

  /** What a channel holds now. @param changes what comes on top */
  #value(name: string, { stateKey }: AnyChannel, changes?: ChannelChanges): JsonValue | undefined {
    if (stateKey === undefined)
      return changes && Object.hasOwn(changes.state, name) ? changes.state[name] : this.#record.values.get(name);
    const { state } = this.#context.session;
    // The state of a session is JSON, and the session's own.
    const holder = changes && Object.hasOwn(changes.stateDelta, stateKey) ? changes.stateDelta : state;
    return Object.hasOwn(holder, stateKey) ? frozen(structuredClone(holder[stateKey]) as JsonValue) : undefined;
  }

  /** All channels as they are now, not to be changed. @param changes what comes on top */
  snapshot(changes?: ChannelChanges): Readonly<Record<string, unknown>> {
    return this.#gather((name, channel) => this.#value(name, channel, changes));
  }

  /** All channels as the step found them that is under way, not to be changed: whoever goes on with it sees them as who began it. */
  found(): Readonly<Record<string, unknown>> {
    const { found, lastOfStepBefore } = this.#record;
    const past = this.#context.invocation.past?.events ?? [];
    const at = lastOfStepBefore ? past.indexOf(lastOfStepBefore) : -1;
    // A step that this process begins: nothing of it is committed yet.
    if (at < 0) return this.snapshot();
    const before = past.slice(this.#record.begin ? past.indexOf(this.#record.begin) + 1 : 0, at + 1);
    return this.#gather((name, { stateKey }) => {
      if (stateKey === undefined) return found.get(name);
      const last = before.findLast(
        ({ actions }) => Object.hasOwn(actions.stateDelta, stateKey) || actions.removedState?.includes(stateKey),
      );
      if (!last) return found.get(name);
      const { stateDelta } = last.actions;
      return Object.hasOwn(stateDelta, stateKey)
        ? frozen(structuredClone(stateDelta[stateKey]) as JsonValue)
        : undefined;
    });
  }

  #gather(valueOf: (name: string, channel: AnyChannel) => JsonValue | undefined): Readonly<Record<string, unknown>> {
    const gathered: Record<string, unknown> = {};
    for (const [name, channel] of this.#plan.channels) gathered[name] = valueOf(name, channel);
    return Object.freeze(gathered);
  }
}

/** What was added to a list; undefined when something else changed. */
function additions(before: JsonValue | undefined, after: JsonValue): JsonValue[] | undefined {
  if (!Array.isArray(before) || !Array.isArray(after) || before.length === 0 || after.length < before.length)
    return undefined;
  const isSame = before.every((item, index) => item === after[index] || isSameJson(item, after[index]));
  return isSame ? after.slice(before.length) : undefined;
}

function isSameJson(one: JsonValue, other: JsonValue | undefined): boolean {
  return typeof one === 'object' && typeof other === 'object' && JSON.stringify(one) === JSON.stringify(other);
}
