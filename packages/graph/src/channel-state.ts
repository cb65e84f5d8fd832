import { ConfigurationError, type InvocationContext, type JsonValue } from '@eventloom/core';
import { copyJson, isSameJson } from '@eventloom/core/internal';
import type { AnyChannel } from './channel.ts';
import { type Checkpoint, outermostRun } from './checkpoint.ts';
import { describeFault, frozen, listAdditions } from './json-values.ts';
import { NodeError } from './errors.ts';
import type { GraphPlan } from './graph-plan.ts';
import type { GraphRecord } from './graph-record.ts';

/** The channel changes of a node, as they are stored. */
interface ChannelChanges {
  /** New values of channels without a `stateKey`, by channel name. */
  readonly state: Record<string, JsonValue>;
  /** New values of channels with a `stateKey`, by that key. */
  readonly stateDelta: Record<string, JsonValue>;
}

/** Creates the error for an invalid value. */
type Refuse = (fault: string) => Error;

/** Reads and computes the values of a graph's channels, both those of the run and those in the session's state. */
export class ChannelState {
  readonly #plan: GraphPlan;
  readonly #record: GraphRecord;
  readonly #context: InvocationContext;
  /** The value that was last checked, by session-state key. */
  readonly #checked = new Map<string, unknown>();

  constructor(plan: GraphPlan, record: GraphRecord, context: InvocationContext) {
    this.#plan = plan;
    this.#record = record;
    this.#context = context;
  }

  /**
   * Returns the initial values of the channels: for a channel with a `stateKey` the value in the session's state,
   * otherwise the default.
   * @throws ConfigurationError for a default that does not match the schema, and as `checkHeld` does
   */
  async defaults(): Promise<ChannelChanges> {
    await this.checkHeld();
    const changes: ChannelChanges = { state: {}, stateDelta: {} };
    const refuse = (fault: string): Error => this.#misfit(`a default: ${fault}`);
    for (const [name, channel] of this.#plan.channels) {
      const held = this.#value(name, channel);
      if (held === undefined && channel.default !== undefined)
        await this.#set(changes, refuse, name, channel, channel.default);
      // Stored so that a resumed first step sees the values that it first began with.
      if (channel.stateKey === undefined) continue;
      const value = this.#value(name, channel, changes);
      if (value !== undefined) changes.state[name] = value;
    }
    return changes;
  }

  /**
   * Returns the changes that a node's writes make to the current values.
   * @throws NodeError for a value that does not match the schema
   */
  async changed(
    nodeName: string,
    run: string,
    updates: readonly (readonly [string, JsonValue])[],
  ): Promise<ChannelChanges> {
    const changes: ChannelChanges = { state: {}, stateDelta: {} };
    const refuse = (fault: string): Error => new NodeError(nodeName, fault);
    for (const [name, update] of updates) {
      const channel = this.#plan.channels.get(name);
      if (!channel)
        throw new NodeError(
          nodeName,
          `writes the channel "${name}", which the graph no longer has; add the channel, or start a new run`,
        );
      const writer = this.#record.writers.get(name);
      if (!channel.reducer && writer !== undefined && writer !== outermostRun(run)) {
        throw new NodeError(
          nodeName,
          `writes the channel "${name}", which another node run of the step has already written; give the channel a reducer`,
        );
      }
      const value = channel.reducer ? channel.reducer(this.#value(name, channel, changes), frozen(update)) : update;
      await this.#set(changes, refuse, name, channel, value);
    }
    return changes;
  }

  async #set(
    changes: ChannelChanges,
    refuse: Refuse,
    name: string,
    channel: AnyChannel,
    value: unknown,
  ): Promise<void> {
    const fitted = await this.#fitted(refuse, name, channel, value);
    const before = channel.stateKey === undefined ? this.#value(name, channel, changes) : undefined;
    const copied = copyChanged(fitted, before);
    if ('fault' in copied) throw refuse(`the channel "${name}" ${describeFault(copied.fault)}; channels hold JSON`);
    if (channel.stateKey === undefined) changes.state[name] = frozen(copied.value);
    else changes.stateDelta[channel.stateKey] = copied.value;
  }

  /**
   * Returns the value parsed by the schema.
   * @throws the error of `refuse` if the value does not match, or the schema changes its own output when it parses it again
   */
  async #fitted(
    refuse: Refuse,
    name: string,
    { schema, reducer, stateKey }: AnyChannel,
    value: unknown,
  ): Promise<unknown> {
    const check = async (given: unknown): Promise<unknown> => {
      const checked = await schema.check(given);
      if ('value' in checked) return checked.value;
      throw refuse(`the channel "${name}" does not accept its value: ${checked.issues.join('; ')}`);
    };
    const made = await check(value);
    // Return the original value if parsing did not change it, because it shares items with the previous value.
    if (isSameJson(made, value)) return value;
    // The schema will parse its own output again: with a reducer at the next write, with a stateKey at the next step.
    const again = reducer ? 'a reducer' : stateKey === undefined ? undefined : 'a stateKey';
    if (again !== undefined && !isSameJson(await check(made), made))
      throw refuse(
        `the channel "${name}" has a schema that changes its own output, and ${again}; transform values when they are written`,
      );
    return made;
  }

  /**
   * Checks the values that the session's state holds for channels. Each value is checked once.
   * @throws ConfigurationError for a value that does not match; the message names the channel
   */
  async checkHeld(): Promise<void> {
    const { state } = this.#context.session;
    for (const [name, channel] of this.#plan.channels) {
      const { schema, stateKey } = channel;
      if (stateKey === undefined || !Object.hasOwn(state, stateKey)) continue;
      const held = state[stateKey];
      if (this.#checked.has(stateKey) && this.#checked.get(stateKey) === held) continue;
      const checked = await schema.check(this.#value(name, channel));
      if ('issues' in checked)
        throw this.#misfit(
          `the session's state under "${stateKey}" does not match the schema of the channel "${name}": ${checked.issues.join('; ')}`,
        );
      this.#checked.set(stateKey, held);
    }
  }

  #misfit(fault: string): ConfigurationError {
    return new ConfigurationError(`graph "${this.#plan.name}": ${fault}`);
  }

  /** Returns the changes in the form in which they are stored: only the appended items of a list that grew. */
  stored({ state }: ChannelChanges): Pick<Checkpoint, 'state' | 'added'> {
    const whole: Record<string, JsonValue> = {};
    const added: Record<string, JsonValue[]> = {};
    for (const [name, value] of Object.entries(state)) {
      const items = listAdditions(this.#record.values.get(name), value);
      if (items) added[name] = items;
      else whole[name] = value;
    }
    return {
      ...(Object.keys(whole).length > 0 ? { state: whole } : {}),
      ...(Object.keys(added).length > 0 ? { added } : {}),
    };
  }

  /** Returns the current value of a channel. @param changes applied on top */
  #value(name: string, { stateKey }: AnyChannel, changes?: ChannelChanges): JsonValue | undefined {
    if (stateKey === undefined)
      return changes && Object.hasOwn(changes.state, name) ? changes.state[name] : this.#record.values.get(name);
    const { state } = this.#context.session;
    // The session's state is JSON. Copy it, because the session owns it.
    const holder = changes && Object.hasOwn(changes.stateDelta, stateKey) ? changes.stateDelta : state;
    return Object.hasOwn(holder, stateKey) ? frozen(structuredClone(holder[stateKey]) as JsonValue) : undefined;
  }

  /** Returns the current values of all channels, frozen. @param changes applied on top */
  snapshot(changes?: ChannelChanges): Readonly<Record<string, unknown>> {
    return this.#gather((name, channel) => this.#value(name, channel, changes));
  }

  /**
   * Returns all channels as the current step found them. Must not be modified: every node of the step reads them, also
   * after a resume.
   */
  found(): Readonly<Record<string, unknown>> {
    const { found, lastOfStepBefore } = this.#record;
    const recorded = this.#context.invocation.resumedLog?.events ?? [];
    const at = lastOfStepBefore ? recorded.indexOf(lastOfStepBefore) : -1;
    // This process began the step, so no write of it is committed yet.
    if (at < 0) return this.snapshot();
    const before = recorded.slice(this.#record.start ? recorded.indexOf(this.#record.start) + 1 : 0, at + 1);
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

/** Copies a value. Leading items that a list shares with the previous list are not copied. */
function copyChanged(value: unknown, before: JsonValue | undefined): ReturnType<typeof copyJson> {
  if (!Array.isArray(value) || !Array.isArray(before) || !Object.isFrozen(before)) return copyJson(value);
  const items: readonly unknown[] = value;
  const end = before.findIndex((item, index) => item !== items[index]);
  const shared = before.slice(0, end === -1 ? before.length : end);
  const copied = copyJson(items.slice(shared.length));
  return 'value' in copied && Array.isArray(copied.value) ? { value: shared.concat(copied.value) } : copied;
}
