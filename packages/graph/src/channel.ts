import { ConfigurationError } from '@eventloom/core';
import type { OptionNames } from '@eventloom/core/internal';
import { type InferSchema, type SchemaLike, ValueSchema } from '@eventloom/tools';
import { checkOptions } from './check-options.ts';

/**
 * Makes a channel's new value of the one it holds, undefined where it holds none, and of what a node writes. Both are JSON and not to
 * be changed. It is called once for each write, in the order of the commits, and never again for a write that is stored.
 */
export type Reducer<Value, Update = Value> = (current: Value | undefined, update: Update) => Value;

/** Options of a channel. */
export interface ChannelOptions<Value, Update = Value, Default = Value> {
  /** Without one a channel has one writer, and what that writes takes the place of what was there. */
  readonly reducer?: Reducer<Value, Update>;
  /**
   * Initial value of the channel in each run of the graph, passed through the schema. Default: the value in the session
   * under `stateKey`, or none.
   */
  readonly default?: Default;
  /**
   * The key of the session's state, with its scope prefix, under which the channel is kept: instructions and other agents read it there,
   * and what they write there is what the channel holds. What the schema refuses of that is a ConfigurationError at the next step. Runs of
   * the graph in one session share it. Without one the channel belongs to one run of the graph and is seen by nobody else.
   */
  readonly stateKey?: string;
}

const OPTIONS: OptionNames<ChannelOptions<unknown>> = { reducer: true, default: true, stateKey: true };

/** A value that the nodes of a graph share. */
export interface AnyChannel {
  readonly schema: ValueSchema;
  readonly reducer: Reducer<unknown, unknown> | undefined;
  readonly default: unknown;
  readonly stateKey: string | undefined;
}

/** A channel that is read as `Value` and written as `Update`. */
export interface Channel<Value = unknown, Update = Value> extends AnyChannel {
  /** For the compiler alone: what the channel is read and written as. */
  readonly types?: { readonly value: Value; readonly update: Update } | undefined;
}

/** The channels of a graph, by name. */
export type Channels = Readonly<Record<string, AnyChannel>>;

/** The values that a node reads: each channel's value, with undefined where the channel may be empty. */
export type ChannelValues<C> = {
  readonly [K in keyof C]: C[K] extends { readonly types?: { readonly value: infer Value } | undefined }
    ? Value
    : unknown;
};

/**
 * The updates that a node returns if it may write the channels `W`; a node that may write none has no keys to return.
 */
export type ChannelUpdates<C, W extends keyof C> = [W] extends [never]
  ? Readonly<Record<string, never>>
  : {
      readonly [K in W]?: C[K] extends { readonly types?: { readonly update: infer Update } | undefined }
        ? Update
        : unknown;
    };

/** The type of what a schema gives, where it takes that as well, and otherwise of what it takes: one that makes a number of a text takes texts. */
type InferInput<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer Input }
    ? InferSchema<S> extends Input
      ? InferSchema<S>
      : Input
    : unknown
  : Record<string, unknown>;

/**
 * A channel whose values the schema lets through: zod 4, any Standard Schema with a JSON schema, or JSON Schema. What a reducer
 * gives is checked as well, all of it, and what the session holds under a `stateKey`: with one of these the schema must leave what it made
 * itself as it is, which is checked with each write that it changes.
 * @throws ConfigurationError for a schema of no known kind, an option that there is not, and a reducer that is no function
 */
export function channel<S extends SchemaLike, Update = InferInput<S>>(
  schema: S,
  options: ChannelOptions<InferSchema<S>, Update, InferInput<S>> & { readonly default: InferInput<S> },
): Channel<InferSchema<S>, Update>;
export function channel<S extends SchemaLike, Update = InferInput<S>>(
  schema: S,
  options?: ChannelOptions<InferSchema<S>, Update, InferInput<S>>,
): Channel<InferSchema<S> | undefined, Update>;
export function channel(schema: SchemaLike, options: ChannelOptions<unknown, never> = {}): unknown {
  checkOptions('channel', options, OPTIONS);
  if (options.reducer !== undefined && typeof options.reducer !== 'function')
    throw new ConfigurationError('channel: reducer must be a function');
  const made: AnyChannel = {
    schema: new ValueSchema(schema, 'channel'),
    // What it is called with is what the schema let through.
    reducer: options.reducer as Reducer<unknown, unknown> | undefined,
    default: options.default,
    stateKey: options.stateKey,
  };
  return made;
}

/** True for what `channel` made. */
export function isChannel(value: unknown): value is AnyChannel {
  return typeof value === 'object' && value !== null && 'schema' in value && 'stateKey' in value;
}

/** A reducer for lists: adds the items of another. */
export function append<T>(current: readonly T[] | undefined, update: readonly T[]): T[] {
  return [...(current ?? []), ...update];
}

/** A reducer for channels with several writers: the last one wins. */
export function replace<T>(_current: T | undefined, update: T): T {
  return update;
}
