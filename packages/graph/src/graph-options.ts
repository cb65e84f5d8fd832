import { type BaseAgentConfig, ConfigurationError } from '@eventloom/core';
import {
  checkOptions,
  integer,
  BASE_AGENT_OPTIONS,
  isRecord,
  type OptionRules,
  SCHEMA_RULE,
  wrongOption,
} from '@eventloom/core/internal';
import type { SchemaLike } from '@eventloom/tools';
import { type Channels, isChannel } from './channel.ts';

/** Options of a `StateGraph`. Only `name` is required. */
export interface StateGraphConfig<C extends Channels = Channels> extends BaseAgentConfig {
  /** The channels that the nodes share, by name. Create them with `channel`. Default: none. */
  readonly channels?: C;
  /** Schema of the graph's input; the user's message must then be JSON. Default: the input is the text of the message. */
  readonly inputSchema?: SchemaLike;
  /** Schema of the graph's output. A mismatch fails the run with a NodeError. Default: no check. */
  readonly outputSchema?: SchemaLike;
}

/** Options of `StateGraph.compile`, which apply to every run of the graph. */
export interface CompileOptions {
  /** Maximum number of steps in one run, which limits loops. A run that needs more fails with a StepLimitError. Default 100. */
  readonly maxSteps?: number;
  /**
   * Maximum number of nodes of a step that work concurrently, and of nodes that one node runs concurrently. A node that
   * waits for its next attempt still counts. Default: no limit.
   */
  readonly maxConcurrency?: number;
  /** True to stream an event when a node starts, completes, or fails an attempt. These events are not stored. Default false. */
  readonly nodeLifecycleEvents?: boolean;
}

const CONFIG_OPTIONS: OptionRules<StateGraphConfig> = {
  ...BASE_AGENT_OPTIONS,
  // Agents check them when they are created, a graph only when it is compiled.
  beforeAgentCallback: 'function or list',
  afterAgentCallback: 'function or list',
  onAgentErrorCallback: 'function or list',
  // Checked below, with an error that names the graph.
  channels: 'any',
  inputSchema: SCHEMA_RULE,
  outputSchema: SCHEMA_RULE,
};
const HINTS = { state: 'write channels: { draft: channel(z.string()) }' };
const COMPILE_OPTIONS: OptionRules<CompileOptions> = {
  maxSteps: integer(1),
  maxConcurrency: integer(1),
  nodeLifecycleEvents: 'flag',
};

/**
 * Checks the options of a graph.
 * @throws ConfigurationError for an unknown option, an invalid channel, and a channel name that is not allowed
 */
export function checkGraphOptions(config: StateGraphConfig): void {
  checkOptions('StateGraph', CONFIG_OPTIONS, config, HINTS, "new StateGraph({ name: 'steps' })");
  const { name: graph, channels = {} } = config;
  if (!isRecord(channels))
    throw wrongOption(`graph "${graph}"`, 'channels', 'an object', channels, '{ draft: channel(z.string()) }');
  for (const [name, channel] of Object.entries(channels)) {
    if (!isChannel(channel))
      throw new ConfigurationError(`graph "${graph}": "${name}" is not a channel; write ${name}: channel(schema)`);
    // An assignment to this name sets the prototype and creates no property.
    if (name === '__proto__')
      throw new ConfigurationError(`graph "${graph}": a channel cannot have the name "${name}"; choose another name`);
  }
}

/** Checks the options of `compile`. @throws ConfigurationError for an unknown or invalid option of `compile` */
export function checkCompileOptions(name: string, options: CompileOptions): void {
  checkOptions(`graph "${name}": compile`, COMPILE_OPTIONS, options);
}
