import { checkOptions, describeKind } from '@eventloom/core/internal';
import { ConfigurationError } from '@eventloom/core';
import type { OptionRules } from '@eventloom/core/internal';
import { type InferSchema, type SchemaLike, ValueSchema } from '@eventloom/tools';

/**
 * Computes a channel's new value from its current value, undefined if it is empty, and the value that a node writes.
 * Both are JSON and must not be modified. The reducer is called once for each write, in the order in which the nodes
 * commit, and not again for a stored write.
 */
export type Reducer<Value, Update = Value> = (current: Value | undefined, update: Update) => Value;

/** Options of `channel`. */
export interface ChannelOptions<Value, Update = Value, Default = Value> {
  /** Combines the current value with each write. Without a reducer a write replaces the value, and only one node may write the channel. */
  readonly reducer?: Reducer<Value, Update>;
  /**
   * Initial value of the channel in each run of the graph, parsed by the schema. Not used if the session holds a value
   * under `stateKey`. Default: the channel is empty.
   */
  readonly default?: Default;
  /**
   * The session-state key, with its scope prefix, that holds the channel's value. Instructions and other agents can
   * read and write the value there, and all runs of the graph in the session share it. A value that does not match the
   * schema throws a ConfigurationError at the next step. Default: the value belongs to one run of the graph and is not
   * visible outside it.
   */
  readonly stateKey?: string;
}

const OPTIONS: OptionRules<ChannelOptions<unknown>> = {
  reducer: 'function',
  // Any value that matches the schema of the channel.
  default: 'any',
  stateKey: 'text',
};

/** A channel of any type: a value that the nodes of a graph share. */
export interface AnyChannel {
  readonly schema: ValueSchema;
  readonly reducer: Reducer<unknown, unknown> | undefined;
  readonly default: unknown;
  readonly stateKey: string | undefined;
}

/** A channel whose value nodes read as `Value` and write as `Update`. */
export interface Channel<Value = unknown, Update = Value> extends AnyChannel {
  /** Carries the types of value and update; never set. */
  readonly types?: { readonly value: Value; readonly update: Update } | undefined;
}

/** The channels of a graph, by name. */
export type Channels = Readonly<Record<string, AnyChannel>>;

/** The channel values that a node reads, by channel name. The value of a channel without a default may be undefined. */
export type ChannelValues<C> = {
  readonly [K in keyof C]: C[K] extends { readonly types?: { readonly value: infer Value } | undefined }
    ? Value
    : unknown;
};

/**
 * The updates that a node may write if it declares the channels `W`; none if it declares none.
 */
export type ChannelUpdates<C, W extends keyof C> = [W] extends [never]
  ? Readonly<Record<string, 'a channel that the node names in its option writes'>>
  : {
      readonly [K in W]?: C[K] extends { readonly types?: { readonly update: infer Update } | undefined }
        ? Update
        : unknown;
    };

/** The type that nodes write: the schema's output type if the schema also accepts it as input, otherwise its input type. */
type InferInput<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer Input }
    ? InferSchema<S> extends Input
      ? InferSchema<S>
      : Input
    : unknown
  : Record<string, unknown>;

/**
 * Declares a channel: a value that the nodes of a graph share, checked against a schema. Nodes read it as `context.state.name`. A node that
 * names the channel in its `writes` changes it with `context.update({ name: value })`.
 *
 * A write replaces the value, and only one node may write the channel. With a `reducer` several nodes may: it computes the new value from
 * the current one and the written one. `append` and `replace` are such reducers.
 *
 * The schema also checks values that it has parsed before (results of the reducer, values under `stateKey`), so with these options it must
 * leave its own output unchanged; otherwise the write throws.
 * @throws ConfigurationError for a value that is not a schema, an unknown option, and a reducer that is not a function
 *
 * @example
 * const graph = new StateGraph({
 * name: 'reader',
 * channels: { notes: channel(z.array(z.string()), { reducer: append, default: [] }) },
 * })
 * .addNode('read', (text: string, context) => context.update({ notes: [text] }), { writes: ['notes'] })
 * .addEdge(START, 'read')
 * .addEdge('read', END)
 * .compile();
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
  checkOptions('channel', OPTIONS, options);
  if (options.reducer !== undefined && typeof options.reducer !== 'function')
    throw new ConfigurationError(
      `channel: reducer: expected a function, got ${describeKind(options.reducer)}; write reducer: (current, update) => [...current, ...update]`,
    );
  const made: AnyChannel = {
    schema: new ValueSchema(schema, 'channel'),
    // The reducer is called only with values that the schema parsed.
    reducer: options.reducer as Reducer<unknown, unknown> | undefined,
    default: options.default,
    stateKey: options.stateKey,
  };
  return made;
}

/** Returns true for a channel that `channel` created. */
export function isChannel(value: unknown): value is AnyChannel {
  return typeof value === 'object' && value !== null && 'schema' in value && 'stateKey' in value;
}

/** A reducer for lists: appends the written items to the current ones. @throws ConfigurationError for a written value that is not a list */
export function append<T>(current: readonly T[] | undefined, update: readonly T[]): T[] {
  if (!Array.isArray(update))
    throw new ConfigurationError(
      `append: expected a list of items to append, got ${describeKind(update)}; write [item]`,
    );
  return [...(current ?? []), ...update];
}

/** A reducer that lets several nodes write a channel: the last write replaces the value. */
export function replace<T>(_current: T | undefined, update: T): T {
  return update;
}
